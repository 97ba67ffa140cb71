"""The slip register: every slip by its number, every number that is missing, and slips written by hand (R-58). Pure."""

from controller.reports.reading import Reading, Scope, body_of, facts
from controller.reports.report import Check, Column, Kind, Report, Rows, cents, number, when
from controller.reports.reserve import people_of, reason_of

NUMBERS_MAX = 1_000_000
"""Slip numbers compared at most."""


def slips(reading: Reading, scope: Scope) -> Report:
    """The prints of the range, and the gaps in all numbers of each book up to the range's end."""
    rows = Rows("Slips printed", Column("Book"), number("Slip"), Column("Print"), when(), Column("Table"),
                number("Game"), number("Seat"), Column("By"), number("Entry"))
    gaps = Rows("Missing numbers", Column("Book"), number("From"), number("To"))
    checks = []
    for book in reading.books():
        seen: set[int] = set()
        for entry in reading.seldom(book, ("slip-printed",), 1, reading.last_before(book, scope.end)):
            body = body_of(entry)
            slip, copy = body["told"]["number"], body["told"]["copy"]
            if entry.at < scope.end and len(seen) < NUMBERS_MAX:
                seen.add(slip)
            if scope.holds(entry.at) and scope.has_table(entry.table):
                words = "first" if copy == 1 else f"reprint {copy - 1}"
                rows.add(book, slip, words, entry.at, entry.table, entry.game, body["fields"]["seat"], people_of(body),
                         entry.number)
        missing, expected = 0, 1
        for slip in sorted(seen):
            if slip > expected:
                gaps.add(book, expected, slip - 1)
                missing += slip - expected
            expected = slip + 1
        checks.append(Check(f"book {book}: slip numbers missing up to the newest", missing, 0, Kind.COUNT))
    return Report("slips", "Slip register", tuple(facts(reading, scope)),
                  (rows.table(), gaps.table(), _by_hand(reading, scope).table()), tuple(checks))


def _by_hand(reading: Reading, scope: Scope) -> Rows:
    """Slips that were written while the controller was down, and entered afterwards."""
    rows = Rows("Slips written by hand", Column("Number on it"), Column("Time on it"), when("Entered"), Column("Table"),
                number("Seat"), Column("Hand"), cents("Handed over"), Column("By"), Column("Reason"), number("Entry"))
    for book in reading.books():
        for entry in reading.seldom_within(book, ("manual-slip",), scope.start, scope.end):
            body = body_of(entry)
            fields = body["fields"]
            if scope.has_table(entry.table):
                rows.add(fields["written"], fields["when"], entry.at, entry.table, fields["seat"], fields["outcome"],
                         fields["handed"], people_of(body), reason_of(body), entry.number)
    return rows
