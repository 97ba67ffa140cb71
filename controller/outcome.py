"""What an act did, as its rules say it. Pure values."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from controller.journal import Posting


class Outcome(NamedTuple):
    """``told``: what the entry and the answer add to the act; the postings; the table and game it belongs to."""

    told: Mapping[str, Any] = {}
    postings: tuple[Posting, ...] = ()
    table: str | None = None
    game: int | None = None
    then: Callable[[], object] | None = None
    """What follows from the act, as entries of its own, once its entry is made."""
