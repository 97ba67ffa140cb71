"""What has changed of a book since it was last made durable: the state rows that the next batch writes. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.floor_state import Boot, Meter, StateRow, Table, boot_row, canonical, meter_row, table_row


@dataclass(slots=True)
class Changes:
    """Keys of what has changed, and the rows that people have made, by kind and key."""

    meters: set[str] = field(default_factory=set)
    tables: set[str] = field(default_factory=set)
    boots: set[tuple[str, str]] = field(default_factory=set)
    awards: dict[str, dict[str, Any]] = field(default_factory=dict)
    made: dict[tuple[str, str], dict[str, Any] | None] = field(default_factory=dict)
    book: bool = False

    def rows(
        self, number: int, meters: Mapping[str, Meter], tables: Mapping[str, Table],
        boots: Mapping[tuple[str, str], Boot], book: str, of_book: dict[str, Any],
    ) -> list[StateRow]:
        """The rows as of entry ``number``; afterwards nothing has changed."""
        made: list[tuple[str, str, dict[str, Any] | None]] = [
            *(("meter", name, meter_row(meters[name])) for name in self.meters),
            *(("table", name, table_row(tables[name])) for name in self.tables),
            *(("boot", f"{key[0]}/{key[1]}", boot_row(boots[key])) for key in self.boots),
            *(("award", key, awards) for key, awards in self.awards.items()),
            *((kind, key, body) for (kind, key), body in self.made.items()),
            *([("book", book, of_book)] if self.book else []),
        ]
        self.book = False
        for changed in (self.meters, self.tables, self.boots, self.awards, self.made):
            changed.clear()
        return [StateRow(kind, key, number, canonical(row)) for kind, key, row in made]
