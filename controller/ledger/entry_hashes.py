"""The hashes of single entries: what ties a printed slip to the ledger for ever (R-58)."""

from collections.abc import Collection

from sqlalchemy import select

from controller.ledger.reader import Reader
from controller.ledger.schema import entry

HASHES_MAX = 256


def hashes(reader: Reader, book: str, numbers: Collection[int]) -> dict[int, bytes]:
    """The hash (32 bytes) of each of these entries, at most ``HASHES_MAX`` of the newest; raises LedgerError."""
    query = select(entry.c.number, entry.c.hash).where(entry.c.book == book, entry.c.number.in_(numbers))
    with reader._connected() as connection:
        rows = connection.execute(query.order_by(entry.c.number.desc()).limit(HASHES_MAX)).all()
    return {number: bytes(hashed) for number, hashed in rows}
