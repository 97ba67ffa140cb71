"""The chain: each entry's hash covers the hash before it and every other column of it and of its postings. Pure.

docs/LEDGER.md gives the text byte by byte, so that a stranger can recompute it.
"""

from collections.abc import Iterable
from hashlib import sha256

from controller.journal import Posting

START = bytes(32)
"""The hash before a book's first entry."""

NOTHING = r"\N"
"""How a column without content is written: no id and no number looks like it."""


def link(
    previous: bytes, book: str, number: int, at: int, kind: str, table: str | None, game: int | None,
    device: str | None, boot: str | None, seq: int | None, rules: int, body: str,
    postings: Iterable[Posting] | list[tuple[str, str, int, int]],
) -> bytes:
    """SHA-256 of an entry. The count of postings is hashed too, so that no text can pass for a posting."""
    lines = [f"{meter}\t{account}\t{microcents}\t{balance}\n" for meter, account, microcents, balance in postings]
    head = (
        f"{book}\n{number}\n{at}\n{kind}\n"
        f"{NOTHING if table is None else table}\n{NOTHING if game is None else game}\n"
        f"{NOTHING if device is None else device}\n{NOTHING if boot is None else boot}\n"
        f"{NOTHING if seq is None else seq}\n{rules}\n{len(lines)}\n{body}\n"
    )
    return sha256(previous + (head + "".join(lines)).encode()).digest()
