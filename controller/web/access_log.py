"""The access log: each sign-in, refused or not, sign-out and export is an entry, and kept beside the ledger till then.

While the book is stopped, or its disk is full, it takes no entry, and those who must put it right sign in all the same.
What happens then is kept durably in ``people.db``, in order and bounded, and entered once the book takes entries again:
each exactly once, by the id that it got when it happened, and with its own time (``own_time``), over restarts too.
"""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from controller.acts import TEXT_MAX, Act, Acted, ActRefused, Why, read_act
from controller.people import Person, person_from
from controller.vault import KEPT_MAX, BadKept, KeptAct, Vault, VaultError

REFUSALS_KEPT_MAX = 500
"""Refused sign-ins are kept only while fewer wait: guessing shuts nobody out."""
RETRY_S = 2.0
"""Between tries while something waits."""
LOOK_S = 5.0
"""Between looks for what another program has kept: ``meterctl`` on the box."""
KEEPS = frozenset({"signed-in", "signed-out", "sign-in-refused", "door-refused", "exported"})
"""What is kept and entered later; anything else among it was put there by other hands, and is set aside."""
NAME_MAX = 64
"""Letters of a person's id, a department or a token's name."""
_TOKEN = "@token"
"""Where the token by which something was asked for stands among the fields that are kept."""

_log = logging.getLogger("meterd.people")


class AccessLog:
    """The one way by which signing in and out comes into the ledger. One event loop owns it."""

    def __init__(self, vault: Vault, act: Callable[[Act], Awaitable[Acted]], now: Callable[[], int]) -> None:
        """``act`` does an act in the register's book; ``now``: UTC microseconds."""
        self._vault, self._act, self._now = vault, act, now
        self._turn = asyncio.Lock()
        self._waits = asyncio.Event()
        """Something waits to be entered."""
        self._said = ""
        """Why it could not be read what is kept, as the log has it already."""
        with self._saying():
            if vault.any_kept():
                self._waits.set()

    async def enter(
        self, kind: str, by: Person, fields: Mapping[str, Any], *, keep: bool = True, token: str = ""
    ) -> Acted | None:
        """Enter what happens now, never before what waits already; or keep it (None). Raises ActRefused, VaultError.

        ``keep=False``: only the entry will do, as for a remote sign-in, which uses up what was opened for it.
        ``token``: by which it was asked for.
        """
        made = Act(kind, secrets.token_hex(16), by, None, None, fields, token)
        async with self._turn:
            at = self._now()
            if not keep or not self._waits.is_set():
                try:
                    return await self._act(made)
                except ActRefused as refused:
                    if not keep or refused.why is not Why.NOT_NOW:
                        raise
                    _log.warning("%s of %s is kept and entered later: %s", kind, by.id, refused)
            most = REFUSALS_KEPT_MAX if kind in ("sign-in-refused", "door-refused") else KEPT_MAX
            kept = KeptAct(0, kind, made.id, tuple(by), {**fields, **({_TOKEN: token} if token else {})}, at)
            if not await asyncio.to_thread(self._vault.keep_act, kept, most):
                raise ActRefused(Why.NOT_NOW, "too much waits to be entered into the ledger", "call the technician")
            self._waits.set()
        return None

    async def keep_export(self, by: Person, what: str, token: str = "") -> None:
        """What somebody takes away is in the audit trail, now or later; a dispute does not wait for the ledger.

        Where not even that can be written down, the log has it.
        """
        try:
            await self.enter("exported", by, {"what": what[:TEXT_MAX]}, token=token)
        except (ActRefused, VaultError) as refused:
            _log.error("%s exported %s, and it is kept nowhere else: %s", by.id, what, refused)

    async def enter_kept(self) -> bool:
        """Enter what waits, oldest first; whether nothing waits any more. Raises VaultError."""
        while self._waits.is_set():
            async with self._turn:
                if not await self._enter_oldest():
                    return False
        return True

    async def _enter_oldest(self) -> bool:
        """Enter one and forget it; an end in between enters nothing twice: the ledger knows its id."""
        try:
            kept = await asyncio.to_thread(self._vault.first_kept)
            if kept is None:
                self._waits.clear()
                return True
            late = _late(kept)
        except BadKept as wrong:
            await asyncio.to_thread(self._vault.set_aside, wrong.order)
            _log.error("set aside, and never entered into the ledger: %s; somebody has written it there", wrong)
            return True
        try:
            await self._act(late)
        except ActRefused as refused:
            if refused.why is Why.NOT_NOW:
                return False
            if refused.why is not Why.ACT_DIFFERS:  # that: it had been entered at its own time, unknown to us
                _log.error("%s of %s can never be entered: %s", kept.kind, late.by.id, refused)
        await asyncio.to_thread(self._vault.forget_kept, kept.order)
        return True

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Enter what waits as soon as the book takes it, for the time of a ``with`` block."""
        task = asyncio.create_task(self._follow(), name="access log")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def _follow(self) -> None:
        while True:
            await self._something()
            with self._saying():
                if await self.enter_kept():
                    _log.info("all that was kept of the access log is entered")
                    continue
            await asyncio.sleep(RETRY_S)

    async def _something(self) -> None:
        """Wait for something to enter: ours, or what ``meterctl`` has kept beside the ledger while we run."""
        while not self._waits.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self._waits.wait()
            with self._saying():
                if await asyncio.to_thread(self._vault.any_kept):
                    self._waits.set()

    @contextmanager
    def _saying(self) -> Iterator[None]:
        """Go on where ``people.db`` cannot be read, and log once why."""
        said = ""
        try:
            yield
        except VaultError as wrong:
            said = str(wrong)
            if said != self._said:
                _log.warning("what is kept of the access log cannot be read: %s", wrong)
        self._said = said


def _late(kept: KeptAct) -> Act:
    """What was kept as an act, checked as any other: the file may have been written by other hands. Raises BadKept."""
    fields = {**kept.fields, "own_time": kept.at}
    token = fields.pop(_TOKEN, "")
    try:
        named = [*kept.by, token]
        if kept.kind not in KEEPS or "remote" in fields or not all(
                isinstance(name, str) and len(name) <= NAME_MAX and name.isprintable() for name in named):
            raise ValueError("nothing that is ever kept")
        return read_act(kept.kind, kept.id, fields, person_from(list(kept.by)))._replace(token=token)
    except (ActRefused, ValueError) as wrong:
        raise BadKept(f"{kept.kind!r:.80} of {kept.by!r:.200}, kept as {kept.id!r:.80}: {wrong}", kept.order) from wrong
