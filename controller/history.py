"""What was shown and seen, beside the ledger: signs, lamps, lines, bets and keys, each with its time (D12, D16, D17).

The ledger keeps what was decided; this keeps what people could see. One file of JSON lines for each UTC day, written
by one thread. It proves no money, so it never stops any: what cannot be kept is counted, and the count is written.
Hooks belong to the event loop's thread and cost microseconds. Format: docs/EVIDENCE.md.
"""

import gzip
import json
import os
import re
import shutil
import threading
import zlib
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

from controller.sign import Shown
from firmware_bridge.messages import Bet, Hello, Lamp, Lamps, Numbered

DAYS_MIN = 30
"""Days that are kept at least."""
DAY_BYTES = 512_000_000
"""Bytes of one day; beyond it only the count of what is left out is written. A busy day of 100 tables has 230 MB."""
FREE_MIN = 500_000_000
"""Bytes that are left free for the ledger on the same disk: below that nothing is written here (SD-09)."""
WAITING_MAX = 100_000
"""Lines that may wait for the thread."""
KEYS_MAX = 20_000
"""Things whose latest content is remembered, so that only a change makes a line."""
EACH_SECOND = 10
"""Lines of one kind of one table or line in a second: a unit that talks without end must not fill the day (SD-09)."""
GROUPS_MAX = 1_000
"""Groups of one day: so many signs that show the same are named once, then by a number."""
FLUSH_S = 1.0
SYNC_EACH = 60
"""Flushes between two times that the file is made durable: a minute."""
END_S = 1.5
DAY_US = 86_400_000_000
LINE_BYTES = 1_000_000
"""A line of a file that is longer is none of ours."""
HOLD = "HOLD"
"""The file beside the days that stops their removal: each line is a reason (D17)."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_NAME = re.compile(r"(\d{4}-\d\d-\d\d)\.jsonl(\.gz)?", re.ASCII)
_INLINE = 3
"""So many names stand in a line itself."""

_Record = tuple[int, str, str, Mapping[str, Any]]
"""When, what kind, of whom, and what."""


class History:
    """The history of a running daemon. ``folder``: None keeps nothing (tools, tests). ``clock``: UTC microseconds."""

    def __init__(
        self, folder: Path | None, clock: Callable[[], int], *, days: int = DAYS_MIN, day_bytes: int = DAY_BYTES
    ) -> None:
        if days < DAYS_MIN:
            raise ValueError(f"the history is kept {DAYS_MIN} days at least, not {days}")
        self._clock, self._off = clock, folder is None
        self._last: dict[tuple[str, str], Mapping[str, Any]] = {}
        self._pace: dict[tuple[str, str], tuple[int, int]] = {}
        """By kind and whom: the latest second, and the lines in it."""
        self._waiting: deque[_Record] = deque()
        self._day = -1
        self.left_out = 0
        """Lines that came too quickly or found no room in memory; what found none on the disk the writer counts."""
        self._stop = threading.Event()
        self._files = _DayFiles(folder, days, day_bytes) if folder is not None else None
        self._thread: threading.Thread | None = None

    @property
    def trouble(self) -> str:
        """Why nothing can be kept now, or empty."""
        return self._files.trouble if self._files is not None else ""

    @property
    def lines_left_out(self) -> int:
        """Lines that were not kept, since the start: memory, the day's limit, or the disk."""
        return self.left_out + (self._files.left_out if self._files is not None else 0)

    def start(self, program: str) -> None:
        """Begin to write. ``program``: name and version, for the first line."""
        if self._files is not None:
            self._tell(self._clock(), "begin", program, {})
            self._thread = threading.Thread(target=self._write, name="history", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Write what waits and make it durable; at most ``END_S``."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(END_S)

    # ------------------------------------------------------------------ what is told and seen

    def sign(self, at: int, shown: Shown) -> None:
        """What a sign shows from now on: amounts, prize rows, whether it is live, the award on it (D12)."""
        if self._off:
            return
        who = shown.sign
        amounts: dict[str, Any] = {"amounts": {meter.id: meter.amount for meter in shown.meters}}
        capped = [meter.id for meter in shown.meters if meter.capped]
        if capped:
            amounts["capped"] = capped
        self._tell(at, "sign", who, amounts)
        self._tell(at, "sign-rows", who, {"rows": [
            [row.label, row.wager, row.pays, row.total, row.envy] for row in shown.rows]})
        table = [shown.table.id, shown.table.state, shown.table.why] if shown.table is not None else None
        self._tell(at, "sign-state", who, {"live": shown.live, "why": shown.why, "table": table})
        win = shown.win
        self._tell(at, "sign-win", who, {"win": None if win is None else {
            "status": win.status, "table": win.table, "seat": win.seat, "label": win.label, "award": win.award,
            "new_value": win.new_value, "meters": list(win.meters), "others": win.others}})

    def sign_line(self, sign: str, up: bool, told: str) -> None:
        """What went out on a sign's own wire last (an LED sign or a topic), and whether the wire is up."""
        self._see("sign-line", sign, {"up": up, "told": told})

    def line(self, line: str, up: bool, cause: str = "") -> None:
        """A line or the broker came or went."""
        self._see("line", line, {"up": up, "cause": cause})

    def unit(self, table: str, hello: Hello) -> None:
        """A table unit started or was asked to say who it is: its firmware is on record (D16)."""
        self._see("unit", table, {
            "device": hello.device, "boot": hello.boot, "firmware": hello.firmware, "reset_cause": hello.reset_cause,
            "seats": hello.seats})

    def key(self, table: str, message: Numbered) -> None:
        """A message of a table unit came in; what it says is in the ledger."""
        if not self._off:
            self._see(f"key-{type(message).__name__.lower()}", table, {
                "device": message.device, "boot": message.boot, "seq": message.seq})

    def bets(self, table: str, bets: Iterable[Bet]) -> None:
        """Chips that lie on the sensors, by the unit's heartbeat."""
        if not self._off:
            self._see("bets", table, {"bets": _seats_by_spot(bets)})

    def lamps(self, table: str, told: Lamps) -> None:
        """What the lamps at a table were told to show: seats by state and spot."""
        if self._off:
            return
        states: dict[str, list[Lamp]] = {}
        for lamp in told.spots:
            states.setdefault(lamp.state, []).append(lamp)
        self._see("lamps", table, {"round": told.round, "lamps": {
            state: _seats_by_spot(lamps) for state, lamps in states.items()}})

    def playable(self, table: str, yes: bool, why: str) -> None:
        """Whether a table was told that it may take the progressive wager."""
        self._see("playable", table, {"yes": yes, "why": why})

    def _see(self, kind: str, who: str, what: Mapping[str, Any]) -> None:
        if self._off or self._last.get((kind, who)) == what:
            return
        at, key = self._clock(), (kind, who)
        second, count = self._pace.get(key, (-1, 0))
        count = count + 1 if second == at // 1_000_000 else 1
        self._pace[key] = (at // 1_000_000, count)
        if len(self._pace) > KEYS_MAX:
            del self._pace[next(iter(self._pace))]
        if count > EACH_SECOND:
            self.left_out += 1
        else:
            self._tell(at, kind, who, what)

    def _tell(self, at: int, kind: str, who: str, what: Mapping[str, Any]) -> None:
        day = at // DAY_US
        if day != self._day:
            self._begin_day(day, at)
        key = (kind, who)
        if self._last.get(key) == what:
            return
        if len(self._last) >= KEYS_MAX and key not in self._last:
            del self._last[next(iter(self._last))]
        self._last[key] = what
        self._put((at, kind, who, what))

    def _begin_day(self, day: int, at: int) -> None:
        """Each day's file stands alone: what stood before midnight is written again."""
        self._day = day
        for (kind, who), what in self._last.items():
            self._put((at, kind, who, {**what, "again": True}))

    def _put(self, record: _Record) -> None:
        if len(self._waiting) >= WAITING_MAX:
            self.left_out += 1
        else:
            self._waiting.append(record)

    # ------------------------------------------------------------------ the thread

    def _write(self) -> None:
        turn = 0
        while not self._stop.wait(FLUSH_S):
            turn += 1
            self._round(sync=turn % SYNC_EACH == 0)
        self._round(sync=True)

    def _round(self, *, sync: bool) -> None:
        files = self._files
        if files is None:
            return
        records = [self._waiting.popleft() for _ in range(len(self._waiting))]
        files.write(records)
        if sync:
            files.say_left_out(self.left_out)
            files.sync()


class _DayFiles:
    """The file of the day. Every method belongs to the history's thread."""

    def __init__(self, folder: Path, days: int, day_bytes: int) -> None:
        self._folder, self._days, self._day_bytes = folder, days, day_bytes
        self._file: BinaryIO | None = None
        self._day = -1
        self._size = self._said = self._at = 0
        self._groups: dict[tuple[str, ...], int] = {}
        self.left_out, self.trouble, self._full = 0, "", False

    def write(self, records: Collection[_Record]) -> None:
        """Append the lines of records and flush them. What the disk does not take is counted."""
        if not records:
            return
        try:
            for day, lines in _by_day(records):
                self._open(day)
                for (at, kind, text), names in lines.items():
                    self._line(at, kind, names, text)
            if self._file is not None:
                self._file.flush()
            self.trouble = f"{self._folder}: the disk is nearly full" if self._full else ""
        except OSError as wrong:
            self._lose(len(records), wrong)  # part of them may be there: the count is the most that it can be

    def _lose(self, count: int, wrong: OSError) -> None:
        self.left_out += count
        self.trouble = f"{self._folder}: {wrong.strerror or wrong}"
        self._close()

    def _open(self, day: int) -> None:
        if self._file is not None and day == self._day:
            return
        self._close()
        on = (_EPOCH + timedelta(days=day)).date()
        self._folder.mkdir(mode=0o750, parents=True, exist_ok=True)
        prune(self._folder, self._days, on)
        pack(self._folder, on)
        path = self._folder / f"{on.isoformat()}.jsonl"
        self._full = shutil.disk_usage(self._folder).free < FREE_MIN
        torn = path.exists() and not _ends_whole(path)
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640), "ab")
        self._day, self._size, self._groups = day, self._file.seek(0, os.SEEK_END), {}
        if torn:
            self._append(b"\n")

    def _line(self, at: int, kind: str, names: list[str], text: str) -> None:
        self._at = at
        if self._full or self._size >= self._day_bytes:
            self.left_out += len(names)
            return
        who = f'"who":{_text(names)}' if len(names) <= _INLINE else f'"group":{self._group(at, names)}'
        self._append(f'{{"at":{at},"kind":"{kind}",{who}{"," if text != "{}" else ""}{text[1:]}\n'.encode())

    def _group(self, at: int, names: list[str]) -> int:
        """The number of a group of names in this file; its own line comes first."""
        key = tuple(names)
        if key not in self._groups:
            if len(self._groups) >= GROUPS_MAX:
                del self._groups[next(iter(self._groups))]
            number = max(self._groups.values(), default=0) + 1
            self._append(f'{{"at":{at},"kind":"group","group":{number},"who":{_text(names)}}}\n'.encode())
            self._groups[key] = number
        return self._groups[key]

    def _append(self, line: bytes) -> None:
        if self._file is not None:
            self._file.write(line)
            self._size += len(line)

    def say_left_out(self, in_memory: int) -> None:
        """Write how many lines were not kept so far, when there are more: also on a day that is full."""
        whole = in_memory + self.left_out
        if whole != self._said and self._file is not None:
            try:
                self._append(f'{{"at":{self._at},"kind":"left-out","who":["history"],"lines":{whole}}}\n'.encode())
                self._said = whole
            except OSError as wrong:
                self._lose(0, wrong)

    def sync(self) -> None:
        """Make the file durable."""
        if self._file is not None:
            try:
                self._file.flush()
                os.fsync(self._file.fileno())
                self._full = shutil.disk_usage(self._folder).free < FREE_MIN
            except OSError as wrong:
                self._lose(0, wrong)

    def _close(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # what it could not take has been counted
                self._file.close()
            self._file = None


def _by_day(records: Iterable[_Record]) -> list[tuple[int, dict[tuple[int, str, str], list[str]]]]:
    """Records as lines, day by day: those of one moment that say the same of several share a line."""
    made: list[tuple[int, dict[tuple[int, str, str], list[str]]]] = []
    for at, kind, who, what in records:
        day = at // DAY_US
        if not made or made[-1][0] != day:
            made.append((day, {}))
        made[-1][1].setdefault((at, kind, _text(what)), []).append(who)
    return made


def _seats_by_spot(places: Iterable[Bet | Lamp]) -> dict[str, list[int]]:
    made: dict[str, list[int]] = {}
    for place in places:
        made.setdefault(place.spot, []).append(place.seat)
    return {spot: sorted(seats) for spot, seats in made.items()}


def _text(what: Any) -> str:
    return json.dumps(what, separators=(",", ":"))


def _ends_whole(path: Path) -> bool:
    """Whether a file is empty or its last line is finished: a power cut can tear it."""
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


# ---------------------------------------------------------------------- the files


def folder_of(ledger: Path) -> Path:
    """Where the history of a ledger lies: ``history`` beside it."""
    return ledger.parent / "history"


def day_files(folder: Path) -> list[tuple[date, list[Path]]]:
    """The days that are there, oldest first, each with its packed file before its open one; no folder is no day."""
    made: dict[date, list[Path]] = {}
    for path in sorted(folder.iterdir(), key=lambda path: path.name, reverse=True) if folder.is_dir() else ():
        match = _DAY_NAME.fullmatch(path.name)
        if match is not None:
            with suppress(ValueError):  # 2026-13-40 is no day of ours
                made.setdefault(date.fromisoformat(match[1]), []).append(path)
    return sorted(made.items())


def pack(folder: Path, today: date) -> None:
    """Pack the files of other days than today, to a twentieth of their size. Raises OSError; nothing is lost by it."""
    for on, paths in day_files(folder):
        plain = folder / f"{on.isoformat()}.jsonl"
        if on == today or plain not in paths:
            continue
        packed, part = plain.with_name(plain.name + ".gz"), plain.with_name(plain.name + ".gz.part")
        part.unlink(missing_ok=True)
        if packed in paths:  # the clock was set back: what came later follows
            shutil.copyfile(packed, part)
        with plain.open("rb") as source, part.open("ab") as raw:
            with gzip.GzipFile(fileobj=raw, mode="ab") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            raw.flush()
            os.fsync(raw.fileno())
        part.replace(packed)
        plain.unlink()


def holds(folder: Path) -> list[str]:
    """The reasons of the legal holds that stand; a hold file that cannot be read is a hold, too (D17)."""
    path = folder / HOLD
    try:
        return path.read_text("utf-8", "replace").splitlines() or ["a hold without a reason"]
    except FileNotFoundError:
        return []
    except OSError as wrong:
        return [f"{path} cannot be read: {wrong.strerror}"]


def write_holds(folder: Path, reasons: Sequence[str]) -> None:
    """Let these holds stand and no others, durably; none: the file goes. Raises OSError."""
    path, part = folder / HOLD, folder / f"{HOLD}.part"
    if not reasons:
        path.unlink(missing_ok=True)
        return
    folder.mkdir(mode=0o750, parents=True, exist_ok=True)
    with part.open("w", encoding="utf-8") as file:
        file.writelines(" ".join(reason.split()) + "\n" for reason in reasons)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def prune(folder: Path, days: int, today: date) -> list[str]:
    """Remove what is older than ``days`` and not among the newest ``days`` files; returns the names.

    Both must hold: a clock that was set wrong for an hour removes nothing. Nothing goes while a hold stands.
    """
    if days < DAYS_MIN:
        raise ValueError(f"the history is kept {DAYS_MIN} days at least, not {days}")
    found = day_files(folder)
    if len(found) <= days or holds(folder):
        return []
    old = [path for on, paths in found[:-days] if on < today - timedelta(days=days) for path in paths]
    for path in old:
        path.unlink(missing_ok=True)
    return [path.name for path in old]


def read(folder: Path, windows: Sequence[tuple[int, int]], found: Counter[str]) -> Iterator[str]:
    """The lines of some windows of time (UTC microseconds, both ends included) as text, each naming whom it is of.

    What stood when a window opens, by the file of its day, comes before it, marked ``standing``. ``found`` counts
    lines, and lines that cannot be read: a power cut can tear one. Memory is bounded by ``KEYS_MAX``.
    """
    for on, paths in day_files(folder):
        start = (datetime(on.year, on.month, on.day, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
        mine = sorted((first, last) for first, last in windows if first < start + DAY_US and last >= start)
        if mine:
            for line in _read_day(_raw_lines(paths, found), mine, found):
                found["lines"] += 1
                yield line


def _raw_lines(paths: Iterable[Path], found: Counter[str]) -> Iterator[bytes]:
    """The lines of a day's files; one that is packed or removed meanwhile is looked for by its other name."""
    for path in paths:
        try:
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
                while raw := file.readline(LINE_BYTES):
                    yield raw
        except FileNotFoundError:
            yield from _raw_lines([path.with_name(path.name + ".gz")] if path.suffix == ".jsonl" else (), found)
        except (EOFError, gzip.BadGzipFile, zlib.error):  # damaged: what came before it has been read
            found["unreadable"] += 1


def _read_day(raw_lines: Iterable[bytes], windows: Sequence[tuple[int, int]], found: Counter[str]) -> Iterator[str]:
    groups: dict[int, list[str]] = {}
    before: dict[tuple[str, str], dict[str, Any]] = {}
    for raw in raw_lines:
        line = _line_of(raw, groups)
        if line is None:
            found["unreadable"] += 1
        elif line["kind"] == "group":
            continue
        elif any(first <= line["at"] <= last for first, last in windows):
            yield from _stood(before)
            yield _text(line)
        elif line["at"] < windows[-1][0]:
            for who in line["who"]:
                if len(before) < KEYS_MAX or (line["kind"], who) in before:
                    before[line["kind"], who] = {**line, "who": [who]}
    yield from _stood(before)


def _stood(before: dict[tuple[str, str], dict[str, Any]]) -> Iterator[str]:
    for line in before.values():
        yield _text({**line, "standing": True})
    before.clear()


def _line_of(raw: bytes, groups: dict[int, list[str]]) -> dict[str, Any] | None:
    """A line with its names in place of the group's number; None when it cannot be read."""
    try:
        line = json.loads(raw)
        if line["kind"] == "group":
            groups[line["group"]] = line["who"]
        elif "group" in line:
            line = {"at": line["at"], "kind": line["kind"], "who": groups[line["group"]]} | {
                name: part for name, part in line.items() if name not in ("at", "kind", "group")}
        if type(line["at"]) is not int or type(line["kind"]) is not str or type(line["who"]) is not list:
            return None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    made: dict[str, Any] = line
    return made


NOWHERE = History(None, lambda: 0)
"""Keeps nothing: what tools and tests that have no history are given."""
