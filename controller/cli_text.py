"""What ``meterctl`` prints for people: the same JSON as the API's, laid out as tables. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], right: Iterable[int] = ()) -> str:
    """Columns of text; those named in ``right`` (from 0) are set to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max([len(head), *(len(row[place]) for row in cells)]) for place, head in enumerate(heads)]
    rights = set(right)
    lines = []
    for row in [list(heads), *cells]:
        padded = [(cell, widths[place], place in rights) for place, cell in enumerate(row)]
        parts = [cell.rjust(width) if to_right else cell.ljust(width) for cell, width, to_right in padded]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def dollars(text: str | None, none: str = "none") -> str:
    """``$1,234.50`` for the API's ``1234.50``."""
    if text is None:
        return none
    whole, _, cents = text.lstrip("-").partition(".")
    return ("-" if text.startswith("-") else "") + f"${int(whole):,}.{cents}"


def meters(found: Iterable[Mapping[str, Any]]) -> str:
    """Every meter with its parameters, accounts and prize rows (R-01, R-03, R-05)."""
    return "\n\n".join(_meter(meter) for meter in found)


def _meter(meter: Mapping[str, Any]) -> str:
    facts = (
        ("Current", dollars(meter["display"])), ("Reserve", dollars(meter["reserve"])),
        ("Overflow", dollars(meter["overflow"])), ("Pending", dollars(meter["pending"])),
        ("Base", dollars(meter["base"])), ("Seed", dollars(meter["seed"])), ("Limit", dollars(meter["limit"])),
        ("Rate of progression", meter["rate"]), ("Reserve rate", meter["reserve_rate"]),
        ("Wagers counted", f"{meter['wagers']:,}"), ("Contributed", dollars(meter["contributed"])),
        ("Put in by the house", dollars(meter["house"])), ("Hits", f"{meter['hits']:,}"),
        ("Dollars won", dollars(meter["won"])), ("Paid by attendant, lifetime", dollars(meter["paid"])),
        ("Paid in all, lifetime", dollars(meter["paid"])), ("Linked tables", ", ".join(meter["tables"])),
    )
    width = max(len(name) for name, _ in facts)
    head = f"{meter['name']} ({meter['id']}, book {meter['book']})"
    lines = [head, "-" * len(head), *(f"{name.ljust(width)}  {fact}" for name, fact in facts), ""]
    rows = [
        (row["label"], dollars(row["now"]), f"{row['hits']:,}",
         *(dollars(row[key]) for key in ("won", "fixed", "returned", "envy")))
        for row in meter["rows"]
    ]
    heads = ("Prize row", "Takes now", "Hits", "Won from meter", "Fixed", "Returned", "Envy")
    lines.append(table(heads, rows, range(1, 7)))
    return "\n".join(lines)


def tables(found: Iterable[Mapping[str, Any]]) -> str:
    """Every table: line, games, and whether it may play."""
    rows = []
    for one in found:
        line = one.get("line") or {}
        games = one.get("games") or []
        latest = games[0] if games else None
        rows.append((
            one["id"], one["device"], line.get("state", "not running"),
            "yes" if line.get("playable") else line.get("reason") or one.get("loss") or "no daemon asked",
            latest["game"] if latest else "-", latest["state"] if latest else "-",
            ", ".join(str(wager["seat"]) for wager in latest["wagers"]) if latest else "-"))
    return table(("Table", "Unit", "Line", "Playable", "Game", "State", "Lit seats"), rows, (4,))


def wins(found: Iterable[Mapping[str, Any]]) -> str:
    """Awards, newest first."""
    rows = [
        (when(one["at"]), one["table"], one["game"], one["seat"], one["label"],
         " + ".join(f"{dollars(cents)} ({name})" for name, cents in one["meters"].items()) or "-",
         dollars(one["fixed"]), dollars(one["returned"]), dollars(one["total"]), one["state"])
        for one in found
    ]
    heads = ("Time (UTC)", "Table", "Game", "Seat", "Hand", "From meter", "Fixed", "Returned", "Total", "State")
    return table(heads, rows, (2, 3, 6, 7, 8))


def log(found: Iterable[Mapping[str, Any]]) -> str:
    """Entries, newest first, each in one line."""
    rows = [
        (one["number"], when(one["at"]), one["kind"], one.get("table") or "", one.get("game") or "", _said(one))
        for one in found
    ]
    return table(("Entry", "Time (UTC)", "Kind", "Table", "Game", ""), rows, (0, 4))


def _said(entry: Mapping[str, Any]) -> str:
    body = entry.get("body") or {}
    message = body.get("message") or {}
    if "reason" in body:
        return f"{message.get('type', '')} {body['reason']}".strip()
    if entry["kind"] == "lock":
        return f"{len(message['wagers'])} wagers"
    if entry["kind"] == "hits":
        return ", ".join(f"seat {hit['seat']} {hit['outcome']}" for hit in message["hits"])
    if entry["kind"] == "opening":
        return f"{body['meter']} {dollars(_cents(body['base_cents']))}"
    return str(message.get("kind") or body.get("hash") or body.get("kind") or "")


def _cents(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"


def when(at: int | str) -> str:
    """A time in UTC to the second, from ISO text or UTC microseconds."""
    if isinstance(at, str):
        return at[:19].replace("T", " ")
    return datetime.fromtimestamp(at // 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
