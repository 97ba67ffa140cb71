"""Configuration changes: every key, from what to what; and changes of people's rights (R-84, R-86). Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from controller.journal import Entry
from controller.reports.reading import Reading, Scope, body_of, facts
from controller.reports.report import Column, Report, Rows, number, when
from controller.reports.reserve import people_of, reason_of
from controller.reports.words import key_words, kind_words

_KINDS = frozenset((
    "person-proposed", "person-enabled", "person-change-proposed", "person-change-enabled", "person-withdrawn",
    "person-disabled", "people-begun", "token-made", "token-ended", "remote-opened", "remote-ended", "secret-changed",
    "secret-set-on-box", "config-proposed", "config-withdrawn", "config-activated", "table-opened", "table-closed",
    "opening-entered", "opening-accepted", "retirement-announced", "meter-retired"))
_NOT_SHOWN = ("reason", "note", "print", "document")
VALUE_MAX = 200


def changes(reading: Reading, scope: Scope) -> Report:
    """Each configuration of the range against the one before it, key by key."""
    rows = Rows("Configuration", number("Entry"), when(), Column("Key"), Column("Was"), Column("Became"), Column("By"),
                Column("Approval"))
    rights = Rows("What people changed: configurations, meters, tables, rights, secrets", number("Entry"), when(),
                  Column("What"), Column("Which"), Column("Details"), Column("By"), Column("Reason"))
    books = reading.books()
    for book in books:
        if book == books[0]:
            _configurations(rows, reading, book, scope)
        for entry in reading.seldom_within(book, _KINDS, scope.start, scope.end):
            body = body_of(entry)
            fields = dict(body["fields"])
            which = next((str(fields.pop(name)) for name in ("id", "hash", "meter", "table") if name in fields), "")
            details = ", ".join(f"{name} {_written(fields[name])}" for name in sorted(fields) if name not in _NOT_SHOWN)
            rights.add(entry.number, entry.at, kind_words(entry.kind), which, details, people_of(body), reason_of(body))
    notes = ("A game is settled under the configuration it was locked under. Every book keeps the whole configuration; "
             "it is shown once.",)
    return Report("changes", "Configuration changes", tuple(facts(reading, scope)), (rows.table(), rights.table()), (),
                  notes)


class _Brought(NamedTuple):
    """Who brought a configuration into force, and by which approval."""

    by: str
    approval: str = ""


def _configurations(rows: Rows, reading: Reading, book: str, scope: Scope) -> None:
    """Every configuration that came into force in the range, with the people and the approval of its activation."""
    before: dict[str, str] | None = None
    proposed: dict[str, str] = {}
    activated: Entry | None = None
    for entry in reading.seldom(book, ("config", "config-proposed", "config-activated"), 1, reading.last(book)[0]):
        body = body_of(entry)
        if entry.kind == "config-proposed":
            proposed[body["told"]["hash"]] = people_of(body)
        elif entry.kind == "config-activated":
            activated = entry
        else:
            now = dict(_flat(body["document"]))
            if scope.holds(entry.at):
                _compare(rows, entry, before, now, _brought(before, activated, proposed, body["hash"]))
            before = now


def _brought(
    before: Mapping[str, str] | None, activated: Entry | None, proposed: Mapping[str, str], name: str
) -> _Brought:
    if activated is None:
        return _Brought("the beginning of the ledger" if before is None else "the file on the box")
    body = body_of(activated)
    fields = body["fields"]
    people = [f"proposed by {proposed[fields['hash']]}" if fields["hash"] in proposed else "",
              f"activated by {people_of(body)}",
              "" if body["told"]["in_force"] == name else "in force with the reset that it waited for"]
    approval = ", ".join(str(fields[each]) for each in ("authority", "approval", "approved") if each in fields)
    return _Brought("; ".join(part for part in people if part), f"{approval} (entry {activated.number})")


def _compare(
    rows: Rows, entry: Entry, before: Mapping[str, str] | None, now: Mapping[str, str], brought: _Brought
) -> None:
    if before is None:
        rows.add(entry.number, entry.at, "the first configuration", "", f"{len(now)} keys", *brought)
        return
    changed = [key for key in sorted(before.keys() | now.keys()) if before.get(key) != now.get(key)]
    for key in changed:
        rows.add(entry.number, entry.at, key_words(key), before.get(key, "not there"), now.get(key, "not there"),
                 *brought)
    if not changed:
        rows.add(entry.number, entry.at, "no key changed", "", "", *brought)


def _flat(made: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Keys of a document as paths: ``meter pg-link tie_policy``. A list of sections goes by their ids."""
    if isinstance(made, Mapping):
        for name in sorted(made):
            yield from _flat(made[name], f"{path} {name}".strip())
    elif isinstance(made, list) and made and all(isinstance(part, Mapping) for part in made):
        for place, part in enumerate(made, 1):
            name = part.get("id", part.get("outcome", place))
            yield from _flat(part, f"{path} {name}")
    else:
        yield path, _written(made)


def _written(made: Any) -> str:
    text = ", ".join(str(part) for part in made) if isinstance(made, list) else str(made)
    return text if len(text) <= VALUE_MAX else text[:VALUE_MAX] + " ..."
