"""Reads ``[awards]``: who verifies, releases and pays, and from which amounts more is asked. Pure."""

from controller.config_reader import Section, nearest, shown
from controller.people import FLOOR_ROLES, RELEASE_ROLES, Role
from controller.plan import AwardRules

PAPER_MAX = 16
LATE_HIT_DAYS_MAX = 90


def read_awards(top: Section) -> AwardRules:
    """The rules of ``[awards]``; without the section, those that ask the least of people."""
    if not top.has("awards"):
        return AwardRules()
    row = top.inside("awards", "awards", "[awards]")
    if row is None:
        return AwardRules()
    return AwardRules(
        release_from_cents=_from(row, "release_from"),
        paper_from_cents=_from(row, "paper_from"),
        paper=_paper(row),
        cards_from_cents=_from(row, "cards_from"),
        late_hit_days=row.whole("late_hit_days", 0, LATE_HIT_DAYS_MAX, default=AwardRules().late_hit_days),
        verify=_roles(row, "verify", FLOOR_ROLES),
        pay=_roles(row, "pay", FLOOR_ROLES),
        release=_roles(row, "release", RELEASE_ROLES),
    )


def read_departments(site: Section, default: tuple[str, ...]) -> tuple[str, ...]:
    """The departments of ``[site]``, each an id, at least two: no act may be signed by one department alone."""
    return default if not site.has("departments") else tuple(_words(site, "departments", 2, 32))


def _from(row: Section, key: str) -> int | None:
    return row.money(key, low=1) if row.has(key) else None


def _words(row: Section, key: str, low: int, high: int) -> list[str]:
    found = row.raw[key]
    remedy = f"list {low} to {high} different words in quotes"
    if not isinstance(found, list) or not all(isinstance(word, str) and word.isprintable() for word in found):
        row.refuse(key, "not a list of words", remedy)
        return []
    if not low <= len(found) <= high or len(set(found)) != len(found) or not all(0 < len(one) <= 64 for one in found):
        row.refuse(key, "too few, too many, twice the same, or one of no good length", remedy)
        return []
    return found


def _paper(row: Section) -> tuple[str, ...]:
    if row.has("paper"):
        lines = _words(row, "paper", 1, PAPER_MAX)
        if any(";" in line or line != " ".join(line.split()) for line in lines):
            row.refuse("paper", "a line with a semicolon or wide blanks", "write each line plainly")
        return tuple(lines)
    if row.has("paper_from"):
        row.missing("paper", 'list the lines to be ticked, like paper = ["Identity checked", "Cards to camera"]')
    return ()


def _roles(row: Section, key: str, default: frozenset[Role]) -> frozenset[Role]:
    if not row.has(key):
        return default
    words = _words(row, key, 1, len(Role))
    known = {role.value: role for role in Role}
    for word in words:
        if word not in known or known[word] in (Role.SURVEILLANCE, Role.AUDITOR):
            row.refuse(key, f"{shown(word)} may not do this", nearest(word, known))
            return default
    return frozenset(known[word] for word in words)
