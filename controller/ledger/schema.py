"""The ledger's tables and their numbered migrations: one schema for SQLite and PostgreSQL.

Append only: entries and postings are never changed. ``state`` is derived and checkable. Money is 64-bit microcents.
"""

from collections.abc import Callable

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Dialect,
    Index,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    TextClause,
    UniqueConstraint,
    bindparam,
    inspect,
    text,
)

APPLICATION_ID = 0x4D455452
"""Marks an SQLite file as ours (``METR``)."""

metadata = MetaData()

entry = Table(
    "entry",
    metadata,
    Column("book", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False, comment="UTC microseconds"),
    Column("kind", Text, nullable=False),
    Column("table", Text),
    Column("game", BigInteger),
    Column("device", Text),
    Column("boot", Text),
    Column("seq", BigInteger),
    Column("rules", SmallInteger, nullable=False),
    Column("body", Text, nullable=False),
    Column("previous", LargeBinary(32), nullable=False),
    Column("hash", LargeBinary(32), nullable=False),
    UniqueConstraint("device", "boot", "seq", name="entry_key"),
    sqlite_with_rowid=False,
)

SELDOM = text("kind NOT IN ('lock', 'count', 'close', 'held', 'heard')")
"""The kinds that are looked for by kind, from the newest; the same text in the index and in its queries."""
Index("entry_seldom", entry.c.book, entry.c.number, entry.c.kind, sqlite_where=SELDOM, postgresql_where=SELDOM)
posting = Table(
    "posting",
    metadata,
    Column("book", Text, primary_key=True),
    Column("entry", BigInteger, primary_key=True, autoincrement=False),
    Column("line", SmallInteger, primary_key=True, autoincrement=False),
    Column("meter", Text, nullable=False),
    Column("account", Text, nullable=False),
    Column("microcents", BigInteger, nullable=False),
    Column("balance", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

state = Table(
    "state",
    metadata,
    Column("book", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("number", BigInteger, nullable=False, comment="the entry as of which it stands"),
    Column("body", Text, nullable=False),
    sqlite_with_rowid=False,
)
Index("state_latest", state.c.book, state.c.kind, state.c.number)

migration = Table("migration", metadata, Column("version", SmallInteger, primary_key=True, autoincrement=False))


def _first(connection: Connection) -> None:
    metadata.create_all(connection)


def _second(_connection: Connection) -> None:
    """The tables stay; state rows have another form, which ``controller.ledger.migrate`` makes from the entries."""


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_first, _second)
"""Step n brings version n to n + 1. Old steps are never changed; a new one is appended."""

VERSION = len(MIGRATIONS)


def migrate(connection: Connection, since: int = 0) -> None:
    """Bring a ledger of version ``since`` to ``VERSION``: each step and its row in one transaction (DB-10)."""
    for version, step in enumerate(MIGRATIONS[since:], start=since + 1):
        with connection.begin():
            step(connection)
            connection.execute(migration.insert().values(version=version))


def version_of(connection: Connection) -> int:
    """The ledger's version; 0 when it has none of our tables."""
    if not inspect(connection).has_table("migration"):
        return 0
    return max(connection.scalars(migration.select()), default=0)


def latest_seldom(dialect: Dialect) -> TextClause:
    """The numbers of a book's latest entries of some seldom kinds (``book``, ``kinds``, ``latest``), newest first.

    SQLite by itself would rather read every entry from the newest on: the index is named.
    """
    by = " INDEXED BY entry_seldom" if dialect.name == "sqlite" else ""
    made = text(
        f"SELECT number FROM entry{by} WHERE book = :book AND kind IN :kinds AND {SELDOM.text} "  # noqa: S608 (our text)
        "ORDER BY number DESC LIMIT :latest")
    return made.bindparams(bindparam("kinds", expanding=True))


def insert_text(table: Table, dialect: Dialect, rows: int = 1, *, replace: bool = False) -> str:
    """An INSERT of so many rows as plain parameters in column order, in the driver's own style (the writer's path)."""
    mark = "?" if dialect.paramstyle == "qmark" else "%s"
    quote = dialect.identifier_preparer.quote
    columns = [quote(column.name) for column in table.columns]
    marks = ", ".join([f"({', '.join([mark] * len(columns))})"] * rows)
    text = f"INSERT INTO {quote(table.name)} ({', '.join(columns)}) VALUES {marks}"  # noqa: S608 (our own tables)
    if replace:
        keys = [quote(column.name) for column in table.primary_key.columns]
        others = [name for name in columns if name not in keys]
        text += f" ON CONFLICT ({', '.join(keys)}) DO UPDATE SET "
        text += ", ".join(f"{name} = excluded.{name}" for name in others)
    return text
