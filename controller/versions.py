"""Every configuration that was in force, with who put it there: read back from the ledger."""

import json
from typing import NamedTuple

from controller.ledger.reader import Reader
from controller.people import person_from


class Version(NamedTuple):
    """One configuration that was in force from ``at`` on (UTC microseconds): its entry, and who put it in force."""

    entry: int
    hash: str
    at: int
    by: str
    approval: str


def versions_of(reader: Reader, book: str, count: int) -> list[Version]:
    """The latest ``count`` configurations of a book, newest first; raises LedgerError."""
    found = reader.entries(book, latest=2 * count, kinds=("config", "config-activated"))
    made: list[Version] = []
    for place, entry in enumerate(found):
        if entry.kind != "config":
            continue
        body, by, approval = json.loads(entry.body), "the file on the box", ""
        older = [one for one in found[place + 1 :] if one.kind == "config-activated"]
        if entry.number == 2:
            by = "the beginning of the ledger"
        elif older:
            by = "the reset of a meter that it waited for"
        if older and older[0].number == entry.number - 1:
            act = json.loads(older[0].body)
            by = person_from(act["by"]).words()
            approval = f"{act['fields']['authority']}, {act['fields']['approval']}, {act['fields']['approved']}"
        made.append(Version(entry.number, body["hash"], entry.at, by, approval))
    return made[:count]
