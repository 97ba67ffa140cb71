"""What is refused before it reaches the desk is in the audit trail too: who, what, why, and how often.

A wrong role at a page, a token that may only read, a signature that does not count. The first is entered and then each
doubling, of each person, thing and reason, so that nobody can fill the ledger by trying (SD-09).
"""

import logging
from collections import OrderedDict

from controller.acts import TEXT_MAX, ActRefused
from controller.people import Person
from controller.vault import VaultError
from controller.web.access_log import AccessLog

KEYS_MAX = 2_048
"""Persons, things and reasons that are counted; the longest untouched is forgotten first."""
_log = logging.getLogger("meterd.people")


class Doors:
    """The refusals of one application that no act's rules have made. One event loop owns it."""

    def __init__(self, access: AccessLog) -> None:
        self._access = access
        self._counts: OrderedDict[tuple[str, str, str], int] = OrderedDict()

    async def refused(self, by: Person, peer: str, what: str, reason: str, token: str = "") -> None:
        """Enter that somebody was refused something. ``what`` and ``reason``: of few, never what a request wrote."""
        key = (f"{by.id}/{token}", what, reason)
        count = self._counts.pop(key, 0) + 1
        self._counts[key] = count
        while len(self._counts) > KEYS_MAX:
            self._counts.popitem(last=False)
        if count & (count - 1):
            return
        fields = {"count": count, "peer": peer, "reason": reason[:TEXT_MAX], "what": what[:TEXT_MAX]}
        try:
            await self._access.enter("door-refused", by, fields, token=token)
        except (ActRefused, VaultError) as refused:
            _log.warning("%s was refused %s, and it is not kept: %s", by.id, what, refused)
