"""Software verification: what ran in a range, with its hashes, and how to prove it (R-69, R-111, R-114, R-115). Pure.

What ran is read from the entries that the controller makes at each start, never from the program that makes the report.
"""

from collections.abc import Mapping
from typing import NamedTuple

from controller.begun import ENTRY, Sign, Software, begun_from
from controller.journal import Entry
from controller.reports.reading import Reading, Scope, body_of, facts
from controller.reports.report import Column, Report, Rows, Table, number, when
from controller.reports.reserve import people_of

NOT_TOLD = "not told by the ledger"
LIBRARY = "library"


class Began(NamedTuple):
    """One start of the controller."""

    entry: Entry
    software: Software
    signs: tuple[Sign, ...]
    config: str


def began_before(reading: Reading, at: int) -> Began | None:
    """The latest start before an instant; None where the ledger tells of none."""
    book = reading.plan_before(reading.books()[0], at).books[0]
    for entry in reading.seldom(book, (ENTRY,), 1, reading.last_before(book, at), newest_first=True):
        if entry.at < at:
            return _began(entry)
    return None


def _began(entry: Entry) -> Began:
    body = body_of(entry)
    return Began(entry, *begun_from(body), body["config"])


def software_words(reading: Reading, scope: Scope) -> str:
    """The software that ran at the range's end, in a line."""
    found = began_before(reading, scope.end)
    if found is None:
        return f"{NOT_TOLD}; this sheet was made by meterd {scope.version or 'of unknown version'}"
    made = found.software
    return f"meterd {made.version}, program {made.program}, ledger rules {made.rules}, entry {found.entry.number}"


def software_report(reading: Reading, scope: Scope) -> Report:
    """Every start of the range with what ran; libraries and configurations with their hashes; what proves each."""
    before = began_before(reading, scope.start)
    starts = [] if before is None else [before]
    book = reading.plan_before(reading.books()[0], scope.end).books[0]
    starts += [_began(entry) for entry in reading.seldom_within(book, (ENTRY,), scope.start, scope.end)]
    last = starts[-1] if starts else None
    tables = [*_starts(starts, scope), _libraries(last), _configurations(reading, book, scope),
              _requirements(reading, scope, starts), _checks(reading, scope)]
    notes = (
        "The hash of the program is that of the lines which sha256sum prints of all its files; that of a library is of "
        "its list of installed files (RECORD), which names the hash of each. Compare them with the approved record.",
        "On the box, in the folder that the program is installed in: find controller firmware_bridge -type f -not "
        "-path '*__pycache__*' | LC_ALL=C sort | xargs -d '\\n' sha256sum | sha256sum",
        "What a person proved with meterctl verify is entered by the act check-done, as configuration-check.")
    return Report("software", "Software verification", (*facts(reading, scope), ("Software", _line(last))),
                  tuple(tables), (), notes)


def _line(last: Began | None) -> str:
    return NOT_TOLD if last is None else f"meterd {last.software.version}, program {last.software.program}"


def _starts(starts: list[Began], scope: Scope) -> list[Table]:
    """Each start with what had changed, and its parts: of the first one all, of a later one those that had changed."""
    rows = Rows("Starts: the one before the range, and every one in it", number("Entry"), when("Started"),
                Column("Version"), Column("Changed"))
    parts = Rows("What ran from each start on, where it had changed", number("Entry"), Column("Part"), Column("Which"),
                 Column("Hash"))
    before: dict[tuple[str, str], str] = {}
    for one in starts:
        now = _parts(one)
        changed = [part for part in dict.fromkeys(part for part, _ in now)
                   if _of(now, part) != _of(before, part)]
        words = ", ".join(changed) or "nothing"
        if not before:
            words = "" if one.entry.at < scope.start else "first start told"
        rows.add(one.entry.number, one.entry.at, one.software.version, words)
        for (part, which), digest in now.items():
            if before.get((part, which)) != digest and (part != LIBRARY or before):
                parts.add(one.entry.number, part, which, digest)
        for part, which in before.keys() - now.keys():
            if part == LIBRARY:
                parts.add(one.entry.number, part, f"{which} is no more", "")
        before = now
    return [rows.table(), parts.table()]


def _parts(one: Began) -> dict[tuple[str, str], str]:
    """The hash of each part of what ran, by the part and its name; empty where a part is a name alone."""
    made = one.software
    return {
        ("program", f"meterd {made.version}"): made.program, ("ledger rules", str(made.rules)): "",
        ("interpreter", f"Python {made.python}"): made.interpreter, ("system", made.system): "",
        ("configuration", ""): one.config,
        ("signs", "; ".join(f"{sign}, {kind}, {shows}" for sign, kind, shows in one.signs)): "",
        **{(LIBRARY, name): digest for name, digest in made.libraries.items()}}


def _of(parts: Mapping[tuple[str, str], str], part: str) -> dict[str, str]:
    return {which: digest for (name, which), digest in parts.items() if name == part}


def _libraries(last: Began | None) -> Table:
    rows = Rows("Libraries at the end of the range", Column("Library and version"), Column("Hash"))
    for name, digest in ({} if last is None else last.software.libraries).items():
        rows.add(name, digest)
    return rows.table()


def _configurations(reading: Reading, book: str, scope: Scope) -> Table:
    """The configuration that the range began with, and those that came into force in it."""
    rows = Rows("Configurations in force", number("Entry"), when("Since"), Column("Hash"))
    made: list[Entry] = []
    for entry in reading.seldom(book, ("config",), 1, reading.last_before(book, scope.end)):
        if entry.at < scope.start:
            made = [entry]
        elif entry.at < scope.end:
            made.append(entry)
    for entry in made:
        rows.add(entry.number, entry.at, body_of(entry)["hash"])
    return rows.table()


def _requirements(reading: Reading, scope: Scope, starts: list[Began]) -> Table:
    """What each row of the standards asks, and how this floor answers it."""
    rows = Rows("What is asked, and how it is proved", Column("Row"), Column("Asked"), Column("Answer"))
    inside = sum(one.entry.at >= scope.start for one in starts)
    ends = ", ".join(f"book {book}: entry {reading.last_before(book, scope.end):,}" for book in reading.books())
    rows.add("R-45", "software id and version", _line(starts[-1] if starts else None))
    rows.add("R-69", "self-check at power-up",
             f"a start proves the end of the ledger before it takes a wager; {inside} in the range")
    rows.add("R-111", "log of software that was installed or removed",
             "the starts above, each with what had changed since the one before")
    rows.add("R-114", "verified at the start, on demand, and by an outside tool",
             "meterctl verify --replay --ledger LEDGER makes every entry again and compares it; sha256sum, as below, "
             "is a tool of somebody else's")
    rows.add("R-114", "results in a report that nobody can alter",
             f"each start is an entry in the chain of hashes; last entries of the range: {ends}")
    rows.add("R-115", "the fielded system is the tested one",
             "compare the hashes above with those of the approved record")
    rows.add("R-120", "configuration checked again by independent people", "the checks below")
    return rows.table()


def _checks(reading: Reading, scope: Scope) -> Table:
    rows = Rows("Checks of the configuration entered in the range", when(), Column("What was found"), Column("By"),
                number("Entry"))
    for book in reading.books():
        for entry in reading.seldom_within(book, ("check-done",), scope.start, scope.end):
            body = body_of(entry)
            if body["fields"]["check"] == "configuration-check":
                rows.add(entry.at, body["fields"]["finding"], people_of(body), entry.number)
    return rows.table()
