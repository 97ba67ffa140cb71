"""Secrets beside the ledger: ``people.db``, readable by the daemon's user alone (docs/adr/0006).

It holds hashes of secrets (argon2id), digests of open sessions, one random key from which first secrets and tokens
are derived, and what of the access log waits for a ledger that takes no entries now. Losing it loses no money: two
people set new secrets on the box. Every call may block: use a thread.
"""

import hmac
import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    create_engine,
    func,
    select,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from controller.ledger.place import LedgerError

NAME = "people.db"
SESSIONS_MAX = 512
HASHES_OF_ONE_MAX = 4
"""Hashes kept of one person besides the one that counts: changes that the ledger has not heard of (yet)."""
KEPT_MAX = 2_000
"""Entries of the access log that may wait; a sign-in or export beyond it is refused, a sign-out is only logged."""
_FIRST_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"

_metadata = MetaData()
_secret = Table(
    "secret", _metadata, Column("person", Text, primary_key=True), Column("print", Text, primary_key=True),
    Column("hash", Text, nullable=False), Column("order", BigInteger, nullable=False))
_session = Table(
    "session", _metadata, Column("digest", Text, primary_key=True), Column("person", Text, nullable=False),
    Column("csrf", Text, nullable=False), Column("began", BigInteger, nullable=False),
    Column("seen", BigInteger, nullable=False), Column("remote", Boolean, nullable=False))
_opening = Table(
    "opening", _metadata, Column("digest", Text, primary_key=True), Column("opening", Text, nullable=False))
"""By session of a remote person: the opening that it has used up."""
_payee = Table(
    "payee", _metadata, Column("digest", Text, primary_key=True), Column("name", Text, nullable=False))
_kept = Table(
    "kept", _metadata, Column("order", Integer, primary_key=True), Column("kind", Text, nullable=False),
    Column("id", Text, nullable=False, unique=True), Column("by", Text, nullable=False),
    Column("fields", Text, nullable=False), Column("at", BigInteger, nullable=False))
_aside = Table("aside", _metadata, *(Column(name, Text) for name in ("order", "kind", "id", "by", "fields", "at")))
"""What was in ``kept`` and is nothing that the controller keeps there: never entered, for who looks into it."""
_key = Table("key", _metadata, Column("key", LargeBinary, primary_key=True))

_hasher = PasswordHasher()
_DUMMY = _hasher.hash(secrets.token_urlsafe(16))
"""What an unknown name's secret is compared with: it takes the same time as a known one's (WE-09)."""


class VaultError(LedgerError):
    """The side file cannot be used: what, where, and what to do now."""


class BadKept(VaultError):
    """The oldest that is kept is nothing that was ever kept so; ``order``: its place."""

    def __init__(self, what: str, order: int) -> None:
        super().__init__(what)
        self.order = order


class StoredSession(NamedTuple):
    """An open session as kept: the digest of its id, whose, the token of its forms, times in UTC microseconds."""

    digest: str
    person: str
    csrf: str
    began: int
    seen: int
    remote: bool
    opening: str = ""
    """Of a remote one: the act that opened remote access for it."""


class KeptAct(NamedTuple):
    """Something of the access log that waits to be entered: by whom (id, role, department), and when it happened.

    ``order`` rises with each one kept; ``at`` in UTC microseconds.
    """

    order: int
    kind: str
    id: str
    by: tuple[str, ...]
    fields: dict[str, Any]
    at: int


def beside(ledger: Path) -> Path:
    """Where the secrets of a ledger lie."""
    return ledger.with_name(NAME)


def digest(secret: str) -> str:
    """SHA-256 of a long random secret (a session's id, a token), as kept."""
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def fingerprint(hashed: str) -> str:
    """What the ledger keeps of a secret: the SHA-256 of its argon2id hash."""
    return sha256(hashed.encode()).hexdigest()


def hash_secret(secret: str) -> str:
    """The argon2id hash of a secret (tens of milliseconds and 64 MB)."""
    return _hasher.hash(secret)


def verify_secret(hashed: str | None, secret: str) -> bool:
    """Whether a secret is the hashed one; without a hash it takes as long and is False."""
    try:
        good = _hasher.verify(hashed or _DUMMY, secret.encode("utf-8", "surrogatepass"))
    except (VerificationError, InvalidHashError):
        return False
    return good and hashed is not None


class Vault:
    """The side file of one ledger. Calls may come from several threads; each is one short transaction."""

    def __init__(self, path: Path) -> None:
        """Open it, or make it; raises VaultError where others could read it or it cannot be used."""
        self._path = path
        self._make(path)
        # No hash in an error's text: it goes into the log.
        self._engine = create_engine(
            URL.create("sqlite", database=str(path)), poolclass=NullPool, hide_parameters=True)
        with self._begun() as connection:
            connection.exec_driver_sql("PRAGMA secure_delete=ON")
            _metadata.create_all(connection)
            kept = connection.scalar(_key.select())
            if kept is None:
                kept = secrets.token_bytes(32)
                connection.execute(_key.insert().values(key=kept))
        if not isinstance(kept, bytes):
            raise VaultError(f"{path}: its key is none; move the file away and set new secrets with "
                             "`meterctl user secret`")
        self._derives: bytes = kept

    @staticmethod
    def _make(path: Path) -> None:
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            mode = path.stat().st_mode
        except OSError as wrong:
            raise VaultError(f"{path}: cannot be opened: {wrong.strerror}; look at the rights of its folder") from wrong
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise VaultError(f"{path}: others may read the people's secrets; run `chmod 600 {path}`")

    @contextmanager
    def _begun(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except (SQLAlchemyError, ValueError, TypeError) as wrong:  # the latter: a column holds another type
            raise VaultError(
                f"{self._path}: cannot be used: {getattr(wrong, 'orig', None) or wrong}; look at the disk; only if "
                "the file itself is damaged move it away and set new secrets with `meterctl user secret`") from wrong

    def hash_of(self, person: str, printed: str) -> str | None:
        """The hash of a person's secret that has the ledger's fingerprint; None: there is none such."""
        with self._begun() as connection:
            query = _secret.select().where(_secret.c.person == person, _secret.c.print == printed)
            row = connection.execute(query).one_or_none()
        if row is None or not hmac.compare_digest(fingerprint(row.hash), printed):
            return None
        return str(row.hash)

    def keep_hash(self, person: str, hashed: str, counts: str = "") -> str:
        """Keep a new hash; returns its fingerprint: it counts once the ledger says so. What ``counts`` now stays."""
        printed = fingerprint(hashed)
        with self._begun() as connection:
            mine = _secret.c.person == person
            rows = connection.execute(_secret.select().where(mine).order_by(_secret.c.order)).all()
            old = [row.print for row in rows if not hmac.compare_digest(row.print, counts)]
            gone = old[: max(0, len(old) - HASHES_OF_ONE_MAX + 1)]
            connection.execute(_secret.delete().where(mine, _secret.c.print.in_(gone)))
            order = max((row.order for row in rows), default=0) + 1
            connection.execute(_secret.insert().values(person=person, print=printed, hash=hashed, order=order))
        return printed

    def forget_hashes(self, person: str, but: str = "") -> None:
        """Remove a person's hashes, but the one that counts."""
        with self._begun() as connection:
            connection.execute(_secret.delete().where(_secret.c.person == person, _secret.c.print != but))

    def sessions(self) -> list[StoredSession]:
        """Every open session."""
        with self._begun() as connection:
            openings = {row.digest: row.opening for row in connection.execute(_opening.select())}
            kept = [StoredSession(*row) for row in connection.execute(_session.select())]
        if not all(type(one.began) is type(one.seen) is int for one in kept):
            raise VaultError(f"{self._path}: its sessions cannot be read; move the file away and set new secrets with "
                             "`meterctl user secret`")
        return [one._replace(opening=openings.get(one.digest, "")) for one in kept]

    def keep_session(self, one: StoredSession) -> None:
        """Keep a session, or that it was seen again."""
        with self._begun() as connection:
            connection.execute(_session.delete().where(_session.c.digest == one.digest))
            session = {name: part for name, part in one._asdict().items() if name != "opening"}
            connection.execute(_session.insert().values(session))
            connection.execute(_opening.delete().where(_opening.c.digest == one.digest))
            if one.opening:
                connection.execute(_opening.insert().values(digest=one.digest, opening=one.opening))

    def end_sessions(self, digests: list[str]) -> None:
        """Forget sessions."""
        with self._begun() as connection:
            connection.execute(_session.delete().where(_session.c.digest.in_(digests)))
            connection.execute(_opening.delete().where(_opening.c.digest.in_(digests)))

    def keep_act(self, one: KeptAct, most: int) -> bool:
        """Keep something behind all that is kept (its ``order`` is given here); False: ``most`` or more are kept."""
        with self._begun() as connection:
            if (connection.scalar(select(func.count()).select_from(_kept)) or 0) >= most:
                return False
            connection.execute(_kept.insert().values(
                kind=one.kind, id=one.id, by=json.dumps(one.by), fields=json.dumps(one.fields), at=one.at))
        return True

    def any_kept(self) -> bool:
        """Whether anything is kept, be it what it may."""
        with self._begun() as connection:
            return connection.execute(select(_kept.c.order).limit(1)).one_or_none() is not None

    def first_kept(self) -> KeptAct | None:
        """The oldest that is kept; None: nothing is. Raises BadKept where it cannot be read."""
        with self._begun() as connection:
            row = connection.execute(_kept.select().order_by(_kept.c.order).limit(1)).one_or_none()
        if row is None:
            return None
        try:
            by, fields = json.loads(row.by), json.loads(row.fields)
        except (ValueError, TypeError, RecursionError):
            by = fields = None
        if not isinstance(by, list) or not isinstance(fields, dict) or not all(isinstance(one, str) for one in by):
            raise BadKept(f"{self._path}: row {row.order} of kept cannot be read", row.order)
        return KeptAct(row.order, row.kind, row.id, tuple(by), fields, row.at)

    def forget_kept(self, order: int) -> None:
        """Forget what has been entered."""
        with self._begun() as connection:
            connection.execute(_kept.delete().where(_kept.c.order == order))

    def set_aside(self, order: int) -> None:
        """Take what can never be entered out of what is kept, for who looks into it."""
        with self._begun() as connection:
            mine = _kept.c.order == order
            connection.execute(_aside.insert().from_select(_kept.c.keys(), _kept.select().where(mine)))
            connection.execute(_kept.delete().where(mine))

    def half(self, act: str) -> str:
        """One half of a first secret: the same for the same act. Its proposer sees one, its enabler the other."""
        made = hmac.digest(self._derives, b"half\n" + act.encode(), "sha256")
        letters = "".join(_FIRST_LETTERS[byte % len(_FIRST_LETTERS)] for byte in made[:12])
        return "-".join(letters[at : at + 4] for at in (0, 4, 8))

    def token(self, act: str, name: str) -> str:
        """A token's secret, the same for the same act; ``NAME.`` stands before 43 letters."""
        made = hmac.digest(self._derives, b"token\n" + act.encode() + b"\n" + name.encode(), "sha256")
        return f"{name}.{made.hex()}"

    def payee_digest(self, act: str, name: str) -> str:
        """A payee's salted digest, the same for the same act and name: all that the ledger has of it."""
        return hmac.digest(self._derives, b"payee\n" + act.encode() + b"\n" + name.encode(), "sha256").hex()

    def keep_payee(self, act: str, name: str) -> None:
        """Keep a payee's name beside the ledger, before the act is in it."""
        made = self.payee_digest(act, name)
        with self._begun() as connection:
            connection.execute(_payee.delete().where(_payee.c.digest == made))
            connection.execute(_payee.insert().values(digest=made, name=name))

    def forget_payee(self, act: str, name: str) -> None:
        """Forget a payee's name: its act was refused."""
        with self._begun() as connection:
            connection.execute(_payee.delete().where(_payee.c.digest == self.payee_digest(act, name)))

    def payee_of(self, made: str) -> str:
        """The name of a digest in the ledger, or empty: it may have been removed, as the law of a place may ask."""
        with self._begun() as connection:
            name = connection.scalar(_payee.select().with_only_columns(_payee.c.name).where(_payee.c.digest == made))
        return str(name or "")
