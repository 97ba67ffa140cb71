"""Hits and wins by level, and every win of the range (R-03, R-86). Pure."""

from collections.abc import Sequence

from controller.reports.awards import HIT_KINDS, Awards, Change, Hand, instead_of, told_of
from controller.reports.not_metered import NOT_METERED, NOTE, metered_words, not_metered_table, rows_within
from controller.reports.reading import Reading, Scope, facts
from controller.reports.report import Check, Column, Kind, Report, Rows, Table, cents, count, number, when

_FIGURES = 6
_Level = tuple[str, str, str]
"""Paytable, outcome and label of a row."""


def wins(reading: Reading, scope: Scope) -> Report:
    """How often each hand hit and what it was due, and each win with its parts; corrections count with their sign."""
    levels: dict[_Level, list[int]] = {}
    each = Rows("Every win", when(), Column("Table"), number("Game"), number("Seat"), Column("Bet"), Column("Hand"),
                Column("What"), cents("From meters"), cents("Fixed"), cents("Returned wager"), cents("Due"),
                cents("Envy to others"), number("Entry"))
    pending, envy_told = 0, 0
    for book in reading.books():
        awards = Awards(reading, book)
        envy_of: dict[str, tuple[int, int]] = {}
        for entry in reading.entries(book, scope.start, scope.end):
            changes = awards.take(entry)
            if entry.kind == "lock":
                envy_of[entry.table or ""] = (entry.game or 0, 0)
            if entry.kind == "paid-in-error":
                game, known = envy_of.get(entry.table or "", (0, 0))
                if game == entry.game:
                    cancelled = sum(cents for _, cents in told_of(entry).get("cancelled", ()))
                    envy_of[entry.table or ""] = (game, known - cancelled)
            if entry.kind not in HIT_KINDS or not scope.has_table(entry.table):
                continue
            told = told_of(entry)
            known = sum(line["cents"] for line in told["envy"])
            game, before = envy_of.get(entry.table or "", (0, 0))
            if game != entry.game or instead_of(entry):  # locked before the range, put right later, or paid in error
                before = known - sum(_sign(change)[4] for change in changes)
            if game == entry.game:
                envy_of[entry.table or ""] = (game, known)
            envy_told += known - before
            pending += sum(posting.microcents for posting in entry.postings
                           if posting.account == "pending" and scope.has_meter(posting.meter))
            for change in changes:
                if not _concerns(change, scope):
                    continue
                hand, figures = change.hand, _sign(change, scope.meter)
                level = levels.setdefault((hand.paytable, hand.outcome, hand.label), [0] * _FIGURES)
                if change.before is not None and change.after is not None and change.before.outcome != hand.outcome:
                    _move(levels, change, scope.meter)
                else:
                    levels[hand.paytable, hand.outcome, hand.label] = _added(level, figures)
                each.add(entry.at, hand.table, hand.game, hand.seat, hand.spot, hand.label, _words(change),
                         figures[1], figures[2], figures[3], sum(figures[1:4]), figures[4], entry.number)
    table, silent = _by_level(reading, scope, levels)
    checks = [
        Check("won from meters = change of pending recorded by these entries", table.total(4) * 1_000_000, pending),
        Check("by level = every win", table.total(7), each.total(10), Kind.MONEY),
    ]
    if scope.meter is None:
        checks.append(Check("envy by hand = envy told by the entries", table.total(8), envy_told, Kind.MONEY))
    notes = ["A win belongs to the day of its hit. A hand put right later counts on the day of the correction: what "
             "stood before with a minus, what stands now with a plus."]
    tables = [table.table(), each.table()]
    if silent is not None:
        tables.insert(1, silent)
        notes.append(NOTE)
    return Report("wins", "Hits and wins by level", tuple(facts(reading, scope)), tuple(tables), tuple(checks),
                  tuple(notes))


def _by_level(reading: Reading, scope: Scope, levels: dict[_Level, list[int]]) -> tuple[Rows, Table | None]:
    """Every row that could be hit, those without a hit too; and the rows whose hits nobody can know."""
    table = Rows("By level", Column("Paytable"), Column("Hand"), Column("Metered"), count("Hits"),
                 cents("From meters"), cents("Fixed"), cents("Returned wagers"), cents("Due"), cents("Envy to others"))
    rows = [row for book in reading.books() for row in rows_within(reading, book, scope)]
    words = metered_words(rows)
    for level in sorted(words.keys() | levels.keys()):
        paytable, _, label = level
        said, row = words.get(level, "yes"), levels.get(level)
        if row is None and said == NOT_METERED:
            table.add(paytable, label, said, *[None] * 6)
            continue
        if row is not None and said == NOT_METERED:
            said = f"{NOT_METERED}: only what people entered"
        row = row or [0] * _FIGURES
        table.add(paytable, label, said, row[0], row[1], row[2], row[3], sum(row[1:4]), row[4])
    return table, not_metered_table(rows)


def _figures(hand: Hand | None, meter: str | None = None) -> list[int]:
    """Hits, from meters, fixed, returned, envy, and 0."""
    if hand is None:
        return [0] * _FIGURES
    won = sum(cents for name, cents in hand.won if meter in (None, name))
    return [0 if hand.envy_only else 1, won, hand.fixed, hand.returned, hand.envy, 0]


def _sign(change: Change, meter: str | None = None) -> list[int]:
    after, before = _figures(change.after, meter), _figures(change.before, meter)
    return [now - was for now, was in zip(after, before, strict=True)]


def _added(row: Sequence[int], more: Sequence[int], sign: int = 1) -> list[int]:
    return [was + sign * each for was, each in zip(row, more, strict=True)]


def _move(levels: dict[_Level, list[int]], change: Change, meter: str | None) -> None:
    """A hand that became another one leaves its level and joins the other."""
    for hand, sign in ((change.before, -1), (change.after, 1)):
        if hand is not None:
            key = (hand.paytable, hand.outcome, hand.label)
            levels[key] = _added(levels.get(key, [0] * _FIGURES), _figures(hand, meter), sign)


def _concerns(change: Change, scope: Scope) -> bool:
    hands = [hand for hand in (change.before, change.after) if hand is not None]
    return scope.meter is None or any(name == scope.meter for hand in hands for name, _ in hand.won)


def _words(change: Change) -> str:
    if change.hand.envy_only:
        return f"{change.words}, envy only"
    return f"{change.words}, paid by dealer" if change.hand.tray else change.words
