"""One archive of everything about an award, a game, or a table's hours: the one-click freeze (D16, D17, R-60, R-78).

It holds entries with their place in the chain, the configurations in force, what signs, lamps, lines and keys did, and
which programs there are. ``controller.evidence_check`` proves it on another machine. Nothing in the ledger is touched,
and it is read in short pieces (DB-03). What it holds and how to check it by hand: docs/EVIDENCE.md.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo
from zoneinfo import ZoneInfo

from controller import history
from controller.acts import KINDS, Is
from controller.evidence_check import COLUMNS, FORMAT, INSIDE, OPENINGS, VERSION, MeterSum, digest_of, seal_of
from controller.journal import Entry
from controller.ledger import schema
from controller.ledger.place import LedgerError
from controller.ledger.ranges import PIECE, Ranges
from controller.money import PPM, format_cents, format_rate
from controller.plan import FloorPlan
from controller.programs import programs
from controller.reports.awards import HIT_KINDS, told_of
from controller.reports.report import format_exact, moment_text

WHOLE_MAX = 1_000_000
"""An archive holds every entry up to the head, and so the whole proof, when there are no more than so many."""
AROUND_US = 600_000_000
"""The history is taken from ten minutes before to ten minutes after each entry."""
RECORD_MAX = 10_000
"""Entries that the record in words has; all are in entries.jsonl."""
TEXT_MAX = 200

README = """\
EVIDENCE of a progressive meter controller

What this archive is
  An extract of a ledger, made by the program that keeps it. A ledger is a list of entries in which each entry's hash
  covers the entry before it, so that none can be changed, removed or put in between without changing every hash after.

  record.txt      what was asked about, in words: wagers, amounts before and after, awards, who did what and when
  entries.jsonl   the entries themselves, one JSON object a line, in the order of the ledger: every column, both hashes
  config.jsonl    the configurations in force, as entries of the same form
  history.jsonl   what signs, lamps, lines, sensors and keypads showed and did, ten minutes around each entry
  programs.json   the program that made this archive: versions, libraries, and the SHA-256 of each of its files
  manifest.json   who asked for it and when, the head of the ledger at that moment, each meter added up, SHA-256 sums
  seal.txt        the SHA-256 of manifest.json

How to check it with the program, on any machine, without the ledger
  meterctl verify --evidence FILE

How to check it by hand
  1. sha256sum -c seal.txt; then compare the sums in manifest.json ("members") with sha256sum of each file.
  2. The hash of an entry is SHA-256 of the 32 bytes of "previous" followed by these lines, each ended by one line feed:
     book, number, at, kind, table, game, device, boot, seq, rules, the number of postings, body; then a line for each
     posting: meter, account, microcents, balance, parted by one tab. A null is written \\N. "at" is in microseconds
     since 1970-01-01 UTC; 1 cent is 1,000,000 microcents.
  3. "previous" of an entry is "hash" of the entry before it. The last hash is the head in manifest.json.
  4. The postings of each entry sum to zero for each meter. A balance is the balance before it plus the amount.
  5. Each meter in manifest.json ("meters"): display, reserve and overflow after entry "since", plus the contributions
     (minus the postings of "players"), plus what the house put in (minus "house"), minus the awards ("pending" and
     "paid"), are display, reserve and overflow after entry "until".

What it proves, and what not
  If manifest.json says "whole": true, every entry from the first one here to the head is here, and a change of any of
  them gives another head. Compare the head with one that was written down elsewhere, or with the ledger or a backup.
  If it says false, entries between "runs" are left out for their number; compare the last hash of each run with the
  ledger or a backup. A configuration older than the first entry is proved by its own hash and in the same way.
  The history is no part of the chain. It is kept apart, to be laid beside the entries and the cameras' pictures.
"""


class NotThere(Exception):
    """What was asked about is not in the ledger: what, and what to do now (exit code 2)."""


class Asked(NamedTuple):
    """What evidence is asked about: a table's game, one seat's award of it, or a table's hours (UTC microseconds)."""

    table: str
    game: int | None = None
    seat: int | None = None
    start: int = 0
    end: int = 0


class Made(NamedTuple):
    """An archive that was made: its manifest, and the SHA-256 to write down elsewhere."""

    manifest: Mapping[str, Any]
    sha256: str


class _Chosen(NamedTuple):
    """What goes into an archive. ``asked``: number and time of each entry that was asked about."""

    book: str
    asked: dict[int, int]
    meters: list[MeterSum]
    first: int
    head: int
    whole: bool


class _Links(Ranges):
    """A look at a ledger that also sees each entry's place in the chain."""

    def linked(self, book: str, first: int, last: int) -> Iterator[dict[str, Any]]:
        """Entries by number, both included, as an archive has them (``evidence_check.COLUMNS``)."""
        rows, lines = schema.entry, schema.posting
        for begin in range(first, last + 1, PIECE):
            end = min(begin + PIECE - 1, last)
            with self._connected() as connection:
                found = connection.execute(rows.select().where(
                    rows.c.book == book, rows.c.number.between(begin, end)).order_by(rows.c.number)).all()
                moved = connection.execute(lines.select().where(
                    lines.c.book == book, lines.c.entry.between(begin, end)
                ).order_by(lines.c.entry, lines.c.line)).all()
            postings: dict[int, list[list[Any]]] = {}
            for _, number, _, *posting in moved:
                postings.setdefault(number, []).append(posting)
            for row in found:
                made = {name: row._mapping[name] for name in COLUMNS if name != "postings"}
                made |= {"previous": row.previous.hex(), "hash": row.hash.hex()}
                yield made | {"postings": postings.get(row.number, [])}


def make(
    ledger: Path, out: Path, asked: Asked, *, by: str, at: int, program: str, whole: bool = False
) -> Made:
    """Write an archive to a new file; it appears whole or not at all.

    ``by``: who asks, and why; ``at``: now, UTC microseconds; ``whole``: hold every entry up to the head however many.
    Raises NotThere, LedgerError, or OSError.
    """
    if out.exists():
        raise NotThere(f"{out}: there is a file already; give another name")
    part = out.with_name(f"{out.name}.{os.getpid()}.part")
    links = _Links(ledger)
    try:
        chosen = _choose(links, asked, whole)
        with os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o640), "w+b") as file:
            with ZipFile(file, "w", ZIP_DEFLATED, allowZip64=True) as archive:
                manifest = _Writing(archive, links, asked, chosen).write(ledger, by, at, program)
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            digest = digest_of(file)[1]
        _name(part, out)
        return Made(manifest, digest)
    except FileExistsError:
        raise NotThere(f"{out}: there is a file already; give another name") from None
    finally:
        links.close()
        part.unlink(missing_ok=True)


def _name(part: Path, out: Path) -> None:
    """Give a finished file its name, which nobody may have; raises FileExistsError."""
    try:
        os.link(part, out)
    except FileExistsError:
        raise
    except OSError:  # a stick or a share that knows no links: the name is claimed first
        os.close(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o640))
        part.replace(out)


def hashes_in(ledger: Path, book: str, numbers: Iterable[int]) -> dict[int, str]:
    """The hashes that a ledger has for some entries of a book, recomputed nowhere: ``meterctl verify`` proves them."""
    links = _Links(ledger)
    try:
        return {line["number"]: line["hash"] for number in numbers for line in links.linked(book, number, number)}
    finally:
        links.close()


# ---------------------------------------------------------------------- what belongs to it


def _choose(links: _Links, asked: Asked, whole: bool) -> _Chosen:
    book, entries = _entries_of(links, asked)
    numbers: dict[int, int] = {}
    anchors: dict[str, int] = {}
    last: dict[str, int] = {}
    won: set[str] = set()
    for entry in entries:
        numbers[entry.number] = entry.at
        settled = told_of(entry).get("settled", {}) if entry.kind in HIT_KINDS and asked.game is not None else {}
        for meter in dict.fromkeys([*(moved.meter for moved in entry.postings), *settled]):
            if meter not in anchors or (meter in settled and meter not in won):
                anchors[meter] = entry.number
            last[meter] = entry.number
        won |= settled.keys()
    own = (asked.table, asked.game)
    meters = [MeterSum(meter, since, last[meter]) for meter, anchor in sorted(anchors.items())
              if (since := _reset_before(links, book, meter, anchor, own)) is not None]
    first, head = min([*numbers, *(meter.since for meter in meters)]), links.last(book)[0]
    return _Chosen(book, numbers, meters, first, head, whole or head - first < WHOLE_MAX)


def _entries_of(links: _Links, asked: Asked) -> tuple[str, Sequence[Entry]]:
    """The book that a table's games are in, and the entries asked about; also of a table that is there no more."""
    plans = {book: links.plan_at(book, None) for book in links.books()}
    for book in sorted(plans, key=lambda name: asked.table not in plans[name].tables):
        found = _of_hours(links, book, asked) if asked.game is None else _of_game(links, book, asked)
        if found:
            return book, found
    tables = sorted({table for plan in plans.values() for table in plan.tables})
    if asked.table not in tables:
        raise NotThere(f"there is no table {asked.table}; the ledger has {', '.join(tables)}")
    if asked.game is None:
        raise NotThere(f"table {asked.table} has no entries in these hours; check --from and --to")
    raise NotThere(f"table {asked.table} has no game {asked.game}; check the table and the game")


def _of_game(links: _Links, book: str, asked: Asked) -> list[Entry]:
    """Every entry of a game from its lock-out on, those refused too; none when it was never locked."""
    head, game = links.last(book)[0], asked.game or 0
    lock = links.lock_of(book, asked.table, game, head + 1)
    if lock is None:
        return []
    found = [entry for entry in links.between(book, lock.number, head)
             if entry.table == asked.table and (entry.game == game or _refused_of(entry, game))]
    seats = {award["seat"] for entry in found if entry.kind in HIT_KINDS for award in told_of(entry)["awards"]}
    if asked.seat is not None and asked.seat not in seats:
        has = ", ".join(f"seat {seat}" for seat in sorted(seats)) or "no seat"
        raise NotThere(f"seat {asked.seat} had no award in game {game} of table {asked.table}; {has} had one")
    return found


def _refused_of(entry: Entry, game: int) -> bool:
    if entry.kind != "act-refused":
        return False
    return bool(json.loads(entry.body)["act"]["fields"].get("game") == game)


def _of_hours(links: _Links, book: str, asked: Asked) -> list[Entry]:
    return [entry for entry in links.entries(book, asked.start, asked.end) if entry.table == asked.table]


def _reset_before(
    links: _Links, book: str, meter: str, before: int, own: tuple[str, int | None]
) -> int | None:
    """The newest entry before a win that laid the meter anew: its opening, or a 100% award of another game."""
    for entry in links.seldom(book, HIT_KINDS.union(OPENINGS), 1, before - 1, newest_first=True):
        if entry.kind in OPENINGS:
            if any(moved.meter == meter for moved in entry.postings):
                return entry.number
        elif (entry.table, entry.game) != own and _takes_all(links.plan_at(book, entry.number), entry, meter):
            return entry.number
    return None


def _takes_all(plan: FloorPlan, entry: Entry, meter: str) -> bool:
    told, table = told_of(entry), plan.tables.get(entry.table or "")
    if table is None or meter not in told.get("settled", {}):
        return False
    for award in told["awards"]:
        spot = table.spot.get(award["spot"])
        prize = spot.prizes.get(award["outcome"]) if spot is not None else None
        if spot is not None and prize is not None and any(
                spot.meter_of[name] == meter and share >= PPM for name, share in prize.shares):
            return True
    return False


# ---------------------------------------------------------------------- writing it


class _Writing:
    """One archive being written, member by member, with their sums."""

    def __init__(self, archive: ZipFile, links: _Links, asked: Asked, chosen: _Chosen) -> None:
        self._archive, self._links, self._asked, self._chosen = archive, links, asked, chosen
        self._members: dict[str, dict[str, Any]] = {}
        self._runs: list[list[int]] = []
        self._ends = ("", "")
        """``previous`` of the first entry and ``hash`` of the last one."""
        self._record: list[str] = []
        self._seen: Counter[str] = Counter()

    def write(self, ledger: Path, by: str, at: int, program: str) -> dict[str, Any]:
        """All members; returns the manifest. The record in words is known last, but stands first for people."""
        chosen, links = self._chosen, self._links
        self._member("README.txt", [README.encode()])
        self._record_of_asked(by, at)
        self._member("record.txt", (line.encode() + b"\n" for line in self._record))
        self._member("entries.jsonl", map(_line, self._entries()))
        self._member("config.jsonl", map(_line, self._configs()))
        lines = history.read(history.folder_of(ledger), _windows(self._asked, chosen.asked.values()), self._seen)
        self._member("history.jsonl", (line.encode() + b"\n" for line in lines))
        self._member("programs.json", [json.dumps(programs(program), indent=1).encode() + b"\n"])
        plan = links.plan_at(chosen.book, None)
        made = {
            "format": FORMAT, "version": VERSION, "what": self._words(), "asked": _asked_of(self._asked),
            "by": by[:TEXT_MAX], "at": at, "site": plan.site, "environment": plan.environment.value, "program": program,
            "book": chosen.book, "first": chosen.first, "previous": self._ends[0], "runs": self._runs,
            "whole": len(self._runs) == 1, "head": {"number": chosen.head, "hash": self._ends[1]},
            "entries_asked_about": len(chosen.asked), "meters": [self._sum(meter) for meter in chosen.meters],
            "history": {"lines": self._seen["lines"], "unreadable": self._seen["unreadable"]},
            "members": self._members,
        }
        raw = json.dumps(made, indent=1, sort_keys=True).encode() + b"\n"
        self._member("manifest.json", [raw])
        self._member("seal.txt", [seal_of(raw)])
        return made

    def _member(self, name: str, pieces: Iterable[bytes]) -> None:
        """One member: fixed time and mode, so that the same content makes the same archive."""
        info = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        info.compress_type, info.external_attr, info.create_system = ZIP_DEFLATED, 0o640 << 16, 3
        digest, size = sha256(), 0
        with self._archive.open(info, "w", force_zip64=True) as file:
            for piece in pieces:
                digest.update(piece)
                size += len(piece)
                file.write(piece)
        if name not in ("manifest.json", "seal.txt"):
            self._members[name] = {"bytes": size, "sha256": digest.hexdigest()}

    def _words(self) -> str:
        asked = self._asked
        zone = self._links.plan_at(self._chosen.book, None).timezone
        if asked.game is None:
            return f"table {asked.table} from {moment_text(asked.start, zone)} to {moment_text(asked.end, zone)}"
        return f"table {asked.table}, game {asked.game}" + (f", seat {asked.seat}" if asked.seat is not None else "")

    def _sum(self, meter: MeterSum) -> dict[str, Any]:
        made = meter.made()
        if made is None:
            raise LedgerError(f"entry {meter.since} is missing; run `meterctl verify` and restore a backup")
        return made._asdict()

    def _entries(self) -> Iterator[dict[str, Any]]:
        """The entries of the archive, and what is known of them once they have gone by."""
        chosen = self._chosen
        for line in self._links.linked(chosen.book, chosen.first, chosen.head):
            number = line["number"]
            if not (chosen.whole or number in chosen.asked or number == chosen.head or self._moves(line)):
                continue
            body = json.loads(line["body"])
            for meter in chosen.meters:
                meter.take(line, body)
            if self._runs and self._runs[-1][1] == number - 1:
                self._runs[-1][1] = number
            else:
                self._runs.append([number, number])
            self._ends = (self._ends[0] or line["previous"], line["hash"])
            yield line

    def _moves(self, line: Mapping[str, Any]) -> bool:
        """Whether an entry belongs to the way of a meter that was asked about."""
        touched = {posting[0] for posting in line["postings"]}
        return any(meter.since == line["number"] or (
            meter.since < line["number"] <= meter.until and meter.name in touched) for meter in self._chosen.meters)

    def _configs(self) -> Iterator[dict[str, Any]]:
        """The configurations in force from the first entry to the last one asked about."""
        book, first = self._chosen.book, self._chosen.first
        numbers = [entry.number for entry in self._links.seldom(book, ("config",), 1, max(self._chosen.asked))]
        before = [number for number in numbers if number <= first][-1:]
        for number in (*before, *(number for number in numbers if number > first)):
            yield from self._links.linked(book, number, number)

    def _record_of_asked(self, by: str, at: int) -> None:
        chosen, book = self._chosen, self._chosen.book
        zone = self._links.plan_at(book, None).timezone
        self._record += [f"Record of {self._words()}", f"Asked for by {' '.join(by.split())[:TEXT_MAX]}, "
                         f"{moment_text(at, zone)}", ""]
        numbers = sorted(chosen.asked)
        for number in numbers[:RECORD_MAX]:
            for line in self._links.linked(book, number, number):
                self._record += [*told(line, self._links.plan_at(book, number), zone), ""]
        if len(numbers) > RECORD_MAX:
            self._record.append(f"{len(numbers) - RECORD_MAX:,} further entries are in entries.jsonl.")


def _line(made: Mapping[str, Any]) -> bytes:
    return json.dumps(made, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _asked_of(asked: Asked) -> dict[str, Any]:
    if asked.game is None:
        return {"table": asked.table, "start": asked.start, "end": asked.end}
    return {"table": asked.table, "game": asked.game} | ({"seat": asked.seat} if asked.seat is not None else {})


def _windows(asked: Asked, times: Iterable[int]) -> Sequence[tuple[int, int]]:
    """The stretches of time around the entries asked about, joined where they meet."""
    if asked.game is None:
        return [(asked.start - AROUND_US, asked.end + AROUND_US)]
    made: list[tuple[int, int]] = []
    for at in sorted(times):
        if made and at - AROUND_US <= made[-1][1]:
            made[-1] = (made[-1][0], at + AROUND_US)
        else:
            made.append((at - AROUND_US, at + AROUND_US))
    return made


# ---------------------------------------------------------------------- the record in words


def told(line: Mapping[str, Any], plan: FloorPlan, zone: ZoneInfo) -> Iterator[str]:
    """One entry in words: who, what, amounts before and after, every movement with its balance (MO-10)."""
    body = json.loads(line["body"])
    kind = KINDS[line["kind"]].title if line["kind"] in KINDS else line["kind"]
    game = f", game {line['game']}" if line["game"] is not None else ""
    yield f"Entry {line['number']}, {moment_text(line['at'], zone)}: {kind}, table {line['table']}{game}"
    yield from _signed(body.get("act", body), line["kind"] if "act" not in body else body["kind"])
    if "act" in body:
        yield f"  Not done: {body['what']}"
    message = body.get("message", {})
    for wager in message.get("wagers", ()):
        yield f"  Wager at seat {wager['seat']}, {wager['spot']}: {format_cents(wager['cents'])}"
    for name in ("chips", "reason"):
        if name in message:
            yield f"  {name}: {message[name]}"
    outcome = body.get("told", body)
    for meter, settled in outcome.get("settled", {}).items():
        yield f"  {meter}, as the game's hands found it: {_amounts(settled['from'])}"
        yield f"  {meter}, as they left it: {_amounts(settled['to'])}"
        yield f"  {meter}: the house put in {format_exact(settled['house'])}"
    table = plan.tables.get(line["table"] or "")
    for award in outcome.get("awards", ()):
        spot = table.spot.get(award["spot"]) if table is not None else None
        prize = spot.prizes.get(award["outcome"]) if spot is not None else None
        shares = dict(prize.shares) if prize is not None else {}
        meters = [f"{format_cents(cents)} from the meter ({format_rate(shares[part]) if part in shares else part})"
                  for part, cents in award["meters"].items()]
        fixed = [f"{format_cents(award['fixed'])} fixed"] if award["fixed"] else []
        back = [f"the wager of {format_cents(award['returned'])}"] if award["returned"] else []
        parts = " + ".join([*meters, *fixed, *back]) or "nothing"
        yield f"  Award of seat {award['seat']}, {award['outcome']}: {parts}"
    for one in outcome.get("envy", ()):
        yield f"  Envy of seat {one['seat']}: {format_cents(one['cents'])}"
    for name in ("due", "handed", "difference", "withheld", "net"):
        if type(outcome.get(name)) is int and outcome is not body:
            yield f"  {name}: {format_cents(outcome[name])}"
    for meter, account, microcents, balance in line["postings"]:
        yield f"  {meter} {account}: {format_exact(microcents)}, then {format_exact(balance)}"


def _amounts(amounts: Sequence[int]) -> str:
    return ", ".join(f"{account} {format_exact(amount)}" for account, amount in zip(INSIDE, amounts, strict=True))


def _signed(body: Mapping[str, Any], kind: str) -> Iterator[str]:
    """Who signed an act, and what they filled in."""
    for name in ("by", "second", "third"):
        if name in body and isinstance(body[name], list):
            person, role, department = body[name]
            yield f"  Signed by {person} ({role}, {department})"
    money = {field.name for field in KINDS[kind].fields if field.kind is Is.MONEY} if kind in KINDS else set()
    for name, given in body.get("fields", {}).items():
        yield f"  {name}: {format_cents(given) if name in money else given}"
