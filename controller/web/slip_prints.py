"""Slips printed from the pages at a configured printer: first the entry that issues the copy, then the paper.

The entry ``slip-printed`` gives the number and copy before any byte goes to the printer, so no two strips of paper are
ever the same; then ``printed`` or ``print-failed`` says what came of it. Where neither follows, nobody knows: the
daemon ended in between. The next print is a reprint that says so, whatever became of the one before (R-58).
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from fastapi import Request

from controller.acts import TEXT_MAX, Act, Acted, ActRefused, Why
from controller.award_lives import Place
from controller.game_file import GameFile
from controller.ledger.place import LedgerError
from controller.printers import Printers
from controller.slip import Slip
from controller.slip_escpos import NotPrinted, escpos
from controller.slip_of import payee_of, slip_of
from controller.vault import VaultError
from controller.web.sessions import PeopleSource, Signed, SignIns, fresh_act_id
from controller.wiring import PrinterPlan

_log = logging.getLogger("meterd.printer")


class PrintSource(PeopleSource, Protocol):
    """What printing needs of the daemon besides signing in."""

    @property
    def printers(self) -> Printers:
        """The configured printers."""

    async def game_file(self, table: str, game: int) -> GameFile | None:
        """One game of a table of the plan; None when it has had none of that number. Raises LedgerError."""


class Came(NamedTuple):
    """What came of a print, in words for the person who asked."""

    good: bool
    words: str


class SlipPrints:
    """Printing for one application; one event loop owns it."""

    def __init__(self, source: PrintSource) -> None:
        self._source = source
        self._running: dict[str, asyncio.Task[Came]] = {}
        """By act: a form that is sent twice prints once, and both are told what came of it."""

    def check(self, act: Act) -> None:
        """Raise ActRefused unless the printer is there, serves the table and has room: before a copy is issued."""
        name, table = str(act.fields["printer"]), str(act.fields["table"])
        printer = self._source.printers.by_id.get(name)
        if printer is None or not printer.plan.serves(table):
            known = ", ".join(plan.id for plan in self._source.printers.serving(table))
            raise ActRefused(Why.NOT_FOUND, f"there is no printer {name} for table {table}",
                             f"choose one of {known}" if known else "print the slip as PDF")
        if printer.is_full:
            raise ActRefused(Why.NOT_NOW, f"too many slips wait at {printer.plan.name}",
                             "look at its cable, paper, cover and power, then print the slip again")

    async def print(self, sign_ins: SignIns, signed: Signed, act: Act, acted: Acted) -> Came:
        """Print the copy that an act has issued; never raises for a printer."""
        running = self._running.get(act.id)
        if running is None:
            plan = self._source.printers.by_id[str(act.fields["printer"])].plan
            if acted.before:
                return Came(False, f"This form was sent before: look at {plan.name}. If no strip came out whole, print "
                                   "the slip again: it will say that it is a reprint.")
            running = self._running[act.id] = asyncio.create_task(self._print(sign_ins, signed, act, acted, plan))
            running.add_done_callback(lambda _: self._running.pop(act.id, None))
        return await asyncio.shield(running)

    async def _print(self, sign_ins: SignIns, signed: Signed, act: Act, acted: Acted, plan: PrinterPlan) -> Came:
        copy = int(acted.told["copy"])
        slip_of_game = {name: act.fields[name] for name in ("table", "game", "seat")}
        what = {"what": f"slip {acted.told['number']}, copy {copy}, at printer {plan.id}", **slip_of_game,
                "number": acted.told["number"], "copy": copy}
        try:
            slip = await self._slip(sign_ins, act, acted)
            await self._source.printers.by_id[plan.id].take(escpos(slip, plan.columns))
        except (LedgerError, VaultError, LookupError, ValueError) as wrong:
            failed = NotPrinted(plan.name, f"the slip cannot be made: {wrong}", "call accounting")
        except NotPrinted as wrong:
            failed = wrong
        else:
            await self._keep(signed, "printed", what)
            says = f" It says REPRINT {copy - 1}." if copy > 1 else ""
            return Came(True, f"Slip {slip.title} is printed at {plan.name}.{says} Look that the strip is whole.")
        await self._keep(signed, "print-failed", {**what, "reason": failed.why[:TEXT_MAX]})
        return Came(False, f"Not printed: slip {acted.told['number']} at {plan.name}: {failed.why}. "
                           f"Do now: {failed.remedy}. The next one will say REPRINT {copy}.")

    async def _keep(self, signed: Signed, kind: str, fields: Mapping[str, Any]) -> None:
        """What came of a print is an entry of its game; without it, nobody knows, and the log has it."""
        act = Act(kind, fresh_act_id(), signed.person, None, None, fields, signed.token)
        table = self._source.snapshot().plan.tables.get(str(fields["table"]))
        try:
            if table is None:
                raise ActRefused(Why.NOT_NOW, f"there is no table {fields['table']} any more", "nothing to do")
            await self._source.act(table.book, act)
        except ActRefused as refused:
            _log.warning("%s: %s, and the ledger did not keep it: %s", kind, fields["what"], refused)

    async def give(
        self, sign_ins: SignIns, signed: Signed, found: GameFile, place: Place, number: int, copy: int
    ) -> bool:
        """Enter that a copy is given out; whether it must say that it was before. Raises VaultError, LookupError.

        A stopped book takes no entry: then nobody knows, so it says so, and what was given is entered later.
        """
        fields = {"table": found.table, "game": found.game, "seat": place[0], "spot": place[1], "number": number,
                  "copy": copy, "to": "PDF"}
        act = Act("slip-given", fresh_act_id(), signed.person, None, None, fields, signed.token)
        try:
            return not (await self._source.act(found.book, act)).told["original"]
        except ActRefused as refused:
            if refused.why is not Why.NOT_NOW:
                raise LookupError(refused.what) from refused
            _log.warning("slip %s, copy %s, is given out as a reprint: %s", number, copy, refused)
        what = f"slip {number}, copy {copy}, of table {found.table}, game {found.game}, seat {place[0]}, as PDF"
        await sign_ins.access.keep_export(signed.person, what, signed.token)
        return True

    async def _slip(self, sign_ins: SignIns, act: Act, acted: Acted) -> Slip:
        found = await self._source.game_file(act.fields["table"], act.fields["game"])
        if found is None:
            raise LookupError("its game is not in the ledger")
        seat, spot, number = act.fields["seat"], act.fields["spot"], acted.told["number"]
        digest = payee_of(found, seat, spot, number, acted.told["copy"])
        player = await asyncio.to_thread(sign_ins.vault.payee_of, digest)
        return slip_of(found, seat, spot, number, acted.told["copy"], player=player)


def slip_prints_of(request: Request) -> SlipPrints:
    """The printing of this application."""
    found: SlipPrints = request.app.state.slip_prints
    return found
