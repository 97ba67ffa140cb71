"""The board: what is durable, kept as views for everybody to look at. Pure.

It learns from batches after their commit, and at a start from the same rows and entries read back, so that nothing on
it can be ahead of the ledger (I4, DI-07).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from controller.alarm_board import AlarmBoard
from controller.award import CHANGED, OPEN
from controller.floor import STATE_KINDS
from controller.floor_state import StateRow, Table, meter_from
from controller.journal import Entry
from controller.links import UNLINKED, names_left
from controller.money import format_cents, format_microcents
from controller.people import person_from
from controller.plan import FloorPlan, MeterPlan, TablePlan
from controller.refusal import WORDS, Refusal
from controller.snapshot import AwardView, EnvyView, GameView, MeterView, Note, RowView, TableView

GAMES_KEPT = 20
AWARDS_KEPT = 50
NOTES_KEPT = 100
WAITING_KEPT = 1_000
"""Games with an award that waits for people; more are only counted."""

NOTICE_WORDS = {
    "late-bet": ("a chip was laid after the lock-out", "the late bet does not count; give the chip back"),
    "bet-removed": ("a locked bet was taken off its sensor", "look at the seat; call the supervisor"),
    "no-lock-out": (
        "cards were dealt without a lock-out", "no progressive wager counts in this game; call the supervisor"),
    "sensor-fault": ("a bet sensor does not work", "take no progressive wager at that seat; call the technician"),
    "door-open": ("the unit's door was opened", "look who is at the unit; write it in the entry log"),
    "door-closed": ("the unit's door was closed", "nothing to do"),
}


CLOSED_WORDS = "the table is closed"


class Board:
    """Views of all books' durable state."""

    def __init__(self, plan: FloorPlan) -> None:
        self.plan = plan
        self.entries: dict[str, int] = {}
        self.stopped: dict[str, str] = {}
        self._awards_pending: dict[str, int] = {}
        self.meters: dict[str, MeterView] = {}
        self._links = {meter: link_of(plan, meter) for meter in plan.meters}
        self.tables = {table.id: TableView(table, (), "") for table in plan.tables.values()}
        self.awards: tuple[AwardView, ...] = ()
        self.rows: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
        """What people have made, by book and kind, then by key."""
        self._waiting: dict[tuple[str, int], tuple[AwardView, ...]] = {}
        self.envy: tuple[EnvyView, ...] = ()
        self.notes: tuple[Note, ...] = ()
        self.alarms = AlarmBoard()

    @property
    def awards_pending(self) -> int:
        """How many awards wait for people, in all books."""
        return sum(self._awards_pending.values())

    @property
    def waiting(self) -> tuple[AwardView, ...]:
        """The awards that wait for people, oldest first, at most ``WAITING_KEPT`` games' worth."""
        return tuple(sorted((one for awards in self._waiting.values() for one in awards), key=lambda one: one.at))

    def learn(self, book: str, entries: Iterable[Entry], states: Iterable[StateRow]) -> None:
        """Take in a durable batch: entries in order, and the state rows that they changed."""
        latest: dict[str, int] = {}
        entries = list(entries)
        if entries:
            self.entries[book] = entries[-1].number
        for entry in reversed(entries):  # of a long batch only what the board can show
            if entry.kind == "lock" and entry.table is not None:
                latest[entry.table] = latest.get(entry.table, 0) + 1
        for entry in entries:
            if entry.kind == "lock" and entry.table is not None:
                latest[entry.table] -= 1
                if latest[entry.table] >= GAMES_KEPT:
                    continue
            if entry.kind == "held":
                self.alarms.learn_entry(entry, json.loads(entry.body))
            elif entry.kind not in ("heard", "opening", "init"):
                self._entry(entry)
        for row in states:
            self._state(book, row)

    def _state(self, book: str, row: StateRow) -> None:
        if row.kind == "meter" and row.key in self.plan.meters:
            made = json.loads(row.body)
            self.meters[row.key] = meter_view(self.plan.meters[row.key], *self._links[row.key], made)
        elif row.kind == "alarm":
            self.alarms.learn_rows([row])
        elif row.kind == "table" and row.key in self.tables:
            self._table(row.key, row.body)
        elif row.kind == "book":
            made = json.loads(row.body)
            self.stopped[book] = made["stopped"]
            self._awards_pending[book] = made["awards_pending"]
        elif row.kind == "award":
            made = json.loads(row.body)
            table, game = row.key.rsplit("/", 1)
            self._learn_awards(table, int(game), made)
        elif row.kind not in STATE_KINDS:
            rows = self.rows.setdefault((book, row.kind), {})
            body = json.loads(row.body)
            if body is None:
                rows.pop(row.key, None)
            else:
                rows[row.key] = body
            if row.kind == UNLINKED and row.key in self.tables:
                view = self.tables[row.key]
                self.tables[row.key] = replace(view, unlinked=names_left(self.plan, body))

    def _table(self, table: str, body: str) -> None:
        view = self.tables[table]
        quiet = not (view.loss or view.closed or view.held or view.owed)
        if quiet and '"loss":null' in body and '"chips":null' in body and not _of_people(body):
            return  # as nearly always: nothing that the game's entries have not told
        made = json.loads(body)
        loss, closed = loss_words(made["loss"]), made.get("closed", False)
        held = held_words(Table(view.plan, held_by=made.get("held_by", [])))
        owed = made.get("owed", 0)
        if (loss, closed, held, owed) != (view.loss, view.closed, view.held, view.owed):
            self.tables[table] = replace(view, loss=loss, closed=closed, held=held, owed=owed)
        if made["open"] is not None and made["open"]["chips"] is not None:
            self._change_game(table, made["open"]["game"], chips=made["open"]["chips"])

    def _learn_awards(self, table: str, game: int, made: Mapping[str, Any]) -> None:
        plan = self.plan.tables.get(table)
        if plan is None:
            return
        awards, envy = award_views(plan, game, made)
        waiting = tuple([one for one in awards if one.state in OPEN])
        if waiting and (len(self._waiting) < WAITING_KEPT or (table, game) in self._waiting):
            self._waiting[table, game] = waiting
        else:
            self._waiting.pop((table, game), None)
        self.awards = (*reversed(awards), *[one for one in self.awards if (one.table, one.game) != (table, game)])
        self.awards = self.awards[:AWARDS_KEPT]
        self.envy = (*envy, *[one for one in self.envy if (one.table, one.game) != (table, game)])[:AWARDS_KEPT]
        self._change_game(table, game, awards=awards, envy=envy)

    def _change_game(self, table: str, game: int | None, **changes: Any) -> None:
        view = self.tables.get(table)
        if view is not None:
            games = tuple([replace(one, **changes) if one.game == game else one for one in view.games])
            self.tables[table] = replace(view, games=games)

    def _entry(self, entry: Entry) -> None:
        table = entry.table or ""
        if entry.kind == "lock":
            if table in self.tables:
                self._lock(entry, table)
            return
        body = json.loads(entry.body)
        self.alarms.learn_entry(entry, body)
        if entry.kind == "count":
            self._change_game(table, entry.game, chips=body["message"]["chips"])
        elif entry.kind == "close":
            self._change_game(table, entry.game, state="closed")
        elif entry.kind == "void":
            self._change_game(table, entry.game, state="void")
        elif entry.kind == "count-closed":
            people = [body[which] for which in ("by", "second", "third") if body.get(which) is not None]
            self._change_game(table, entry.game, closed_by=tuple([person_from(one).id for one in people]))
        elif entry.kind in ("wager-added", "wager-removed"):
            self._correct(table, entry.game, entry.kind == "wager-added", body["fields"])
        note = note_of(entry, body)
        if note is not None:
            self.notes = (note, *self.notes)[:NOTES_KEPT]

    def _correct(self, table: str, game: int | None, added: bool, fields: Mapping[str, Any]) -> None:
        """A wager that people added or removed: its seat is lit, or dark."""
        view = self.tables.get(table)
        for one in view.games if view is not None else ():
            if view is not None and one.game == game:
                place = (fields["seat"], fields["spot"])
                cents = {spot.id: spot.paytable.wager_cents for spot in view.plan.spots}.get(fields["spot"], 0)
                wagers = [wager for wager in one.wagers if wager[:2] != place] + [(*place, cents)] * added
                self._change_game(table, game, wagers=tuple(sorted(wagers)))

    def _lock(self, entry: Entry, table: str) -> None:
        view, body = self.tables[table], entry.body
        games = view.games
        opened = body.endswith('"opened":true}')
        if opened and any(one.state == "open" for one in games):
            games = tuple([replace(one, state="closed") if one.state == "open" else one for one in games])
        wagers = _wagers(body[body.index("[") : body.rindex("]") + 1])
        made = GameView(table, entry.game or 0, entry.at, "open" if opened else "late", wagers, None, (), ())
        self.tables[table] = replace(view, games=(made, *games[: GAMES_KEPT - 1]))


def _of_people(body: str) -> bool:
    """Whether a table's row may say that people have closed it, that an award holds it, or that it owes something."""
    return '"closed"' in body or '"held_by"' in body or '"owed":' in body


@lru_cache(maxsize=4_096)
def _wagers(text: str) -> tuple[tuple[int, str, int], ...]:
    """The wagers in the list of a lock-out's body; the same seats bet all day."""
    return tuple([(one["seat"], one["spot"], one["cents"]) for one in json.loads(text)])


def link_of(plan: FloorPlan, meter: str) -> tuple[tuple[str, ...], int]:
    """The tables of a meter's link, and the highest rate of progression among them in ppm."""
    tables = plan.linked_tables(meter)
    feeds = [feed for name in tables for spot in plan.tables[name].spots for feed in spot.feeds]
    return tables, max((feed.rate_ppm for feed in feeds if feed.meter == meter), default=0)


def meter_view(meter: MeterPlan, tables: tuple[str, ...], rate_ppm: int, made: Mapping[str, Any]) -> MeterView:
    """A meter's view from its state row."""
    state = meter_from(meter, dict(made))
    rows = []
    for prize in meter.paytable.prizes:
        count = state.row(prize.outcome)
        rows.append(RowView(
            prize.outcome, prize.label, count.hits, count.won, count.fixed, count.returned, count.envy))
    return MeterView(
        meter, state.display, state.reserve, state.overflow, state.pending, -state.players, -state.house, state.paid,
        state.wagers, rate_ppm, tuple(rows), tables)


def award_views(
    plan: TablePlan, game: int, made: Mapping[str, Any]
) -> tuple[tuple[AwardView, ...], tuple[EnvyView, ...]]:
    """A game's awards in pay order and its envy, from its state row."""
    awards = []
    for one in made["awards"]:
        spot = plan.spot.get(one["spot"])
        prize = spot.prizes.get(one["outcome"]) if spot is not None else None
        label = prize.label if prize is not None else one["outcome"]
        meter_of = spot.meter_of if spot is not None else {}
        shares = tuple([(meter_of.get(part, part), cents) for part, cents in one["meters"].items()])
        awards.append(AwardView(
            plan.id, game, one["seat"], one["spot"], one["outcome"], label, shares, one["fixed"], one["returned"],
            made["entry"], one["at"], one["state"],
            tuple([(step["step"], step["at"], tuple(step["by"])) for step in one["steps"]]),
            tuple(made.get("round", {}).get("since", {}).get("finders", ())), step_roles(one["steps"])))
    envy = tuple([EnvyView(plan.id, game, one["seat"], one["cents"]) for one in made["envy"]])
    return tuple(awards), envy


def step_roles(steps: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """By step that still counts: the roles of those who took it, where it keeps them (``AwardView.roles``)."""
    roles: dict[str, tuple[str, ...]] = {}
    for step in steps:
        if step["step"] == CHANGED:
            roles.clear()
        elif "roles" in step:
            roles[step["step"]] = tuple(step["roles"])
    return tuple(roles.items())


def loss_words(loss: Mapping[str, Any] | None) -> str:
    """Why a table waits for people, in the floor's words."""
    if loss is None:
        return ""
    if loss["kind"] == "loss":
        first, last = loss["first"], loss["kept_first"] - 1
        lost = f"message {first}" if first == last else f"messages {first} to {last}"
        return f"the table unit has lost {lost}"
    return f"the table unit counted {loss['theirs']} wagers, the controller {loss['ours']}"


def held_words(table: Table) -> str:
    """Why people hold a table from playing, in the floor's words, or empty.

    It is closed, a meter of it is not opened yet or is retired, or a large award is not verified.
    """
    if table.closed:
        return CLOSED_WORDS
    if table.shut:
        return table.shut
    if table.held_by:
        game, seat, _ = table.held_by[0]
        return f"the award of seat {seat}, game {game}, waits to be verified"
    return ""


def note_of(entry: Entry, body: Mapping[str, Any]) -> Note | None:
    """What an entry tells people, or None."""
    table, game = entry.table or "", f"game {entry.game}" if entry.game else ""
    if entry.kind in ("refused", "fault"):
        what, remedy = WORDS[Refusal(body["reason"])]
        kind = "refusal" if entry.kind == "refused" else "fault"
        where = _where(body.get("message", {}))
        return Note(entry.at, kind, body["reason"], table, f"Not accepted{where}: {what}", remedy, entry.number)
    if entry.kind == "notice":
        message = body["message"]
        what, remedy = NOTICE_WORDS[message["kind"]]
        seat = f"seat {message['seat']}: " if message.get("seat") is not None else ""
        return Note(entry.at, "notice", message["kind"], table, seat + what, remedy, entry.number)
    if entry.kind == "count" and "difference" in body:
        what = f"{game}: {body['message']['chips']} chips counted, {body['accepted']} wagers accepted"
        return Note(entry.at, "alarm", "chip-difference", table, what, "count again; call the supervisor", entry.number)
    if entry.kind == "hits" and body.get("apart"):
        what = f"{game}: another game took from the meter in between; later hits are paid from the meter as it stood"
        remedy = "tell the players their awards after the game closes"
        return Note(entry.at, "alarm", "settled-apart", table, what, remedy, entry.number)
    if entry.kind == "loss":
        remedy = "keep the table closed for the progressive; two people accept it with `meterctl accept-loss`"
        return Note(entry.at, "alarm", body["kind"], table, loss_words(body), remedy, entry.number)
    if entry.kind == "limit-waits":
        what = (f"The limit of {body['meter']}, {format_cents(body['limit_cents'])}, is not in force: the meter stands "
                f"at {format_microcents(body['display'])}; it waits for the next reset")
        return Note(entry.at, "alarm", "limit-waits", "", what, "propose a limit above the amount", entry.number)
    if entry.kind == "stop":
        remedy = "no wagers, no awards; call the technician: `meterctl verify`, then `meterctl clear`"
        return Note(entry.at, "fault", "book-stopped", "", body["reason"], remedy, entry.number)
    return None


def _where(message: Mapping[str, Any]) -> str:
    said = message.get("type", "")
    kind = {"lock": "lock-out", "hits": "hit", "count": "chip count"}.get(said, said)
    return f" ({kind})" if kind and "malformed" not in message else ""
