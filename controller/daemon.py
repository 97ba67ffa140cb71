"""``meterd``: every object built by hand and run on one event loop. The only room that reads a clock.

Tasks: one for each serial line, one for MQTT, one for each LED sign, the pages, and the ticker below. One thread: the
ledger's writer (``controller.books``).
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from importlib.metadata import version as package_version
from itertools import takewhile
from pathlib import Path
from typing import Any

from controller import log
from controller.acts import Act, Acted
from controller.alarms import Alarm
from controller.bell import Bell
from controller.board import Board
from controller.books import Books
from controller.config_fit import Fitting
from controller.desk_reads import DeskReads
from controller.history import History, folder_of, write_holds
from controller.intake import NotTaken, from_its_line, read_frame, read_json
from controller.ledger.place import file_of, ledger_url
from controller.ledger.reader import Reader
from controller.metrics import Stats
from controller.next_wiring import NextWiring
from controller.notify import Notify
from controller.odds_aside import OddsAside
from controller.outcome import Outcome
from controller.plan import FloorPlan
from controller.printers import Printers
from controller.sign import Shown
from controller.signs import Signs
from controller.snapshot import Note, Snapshot
from controller.units import Strays, Unit, Wire
from controller.web.app import open_app
from controller.web.serve import Door, Server
from controller.whole_floor import WHOLE_FLOOR, act_everywhere
from controller.wiring import LinePlan, Wiring
from firmware_bridge.frames import encode_frame
from firmware_bridge.messages import Down, Heartbeat, Up, encode_binary, encode_json
from firmware_bridge.mqtt_line import MqttLine
from firmware_bridge.serial_line import SerialLine

TICK_S = 0.25
"""Pages and signs are told at most four times a second."""
PULSE_S = 1.0
STUCK_S = 5.0
"""The watchdog is not fed when the writer has been at one batch for longer (SD-02)."""
CLOSE_S = 1.5
TOLD_S = 0.05  # so long the books stay open at the end, for what is known of slips at the printers
SIGNS_S = 6.0
"""READY waits so long for the LED signs to be told (SD-01, DI-01): setting one up takes 5 s. Play does not wait."""
FRESH_US = 900_000
"""A view of the lines is made anew after this long: a live daemon vouches for it every second."""

VERSION = package_version("progressive-meter-controller")

_log = logging.getLogger("meterd")


def clock() -> int:
    """UTC microseconds."""
    return time.time_ns() // 1_000


def timer() -> float:
    """Seconds of a clock that never goes back."""
    return time.monotonic()


class Daemon:
    """One running meterd. It is the ``Source`` of the pages."""

    def __init__(
        self, plan: FloorPlan, fitting: Fitting, books: Books, board: Board, reader: Reader, stats: Stats,
        merge: log.MergeRepeats, config: Path, door: Door,
    ) -> None:
        wiring, self._fitting, self._door = fitting.wiring, fitting, door
        self._stop = asyncio.Event()
        reads = DeskReads(reader, plan, config, self._stop.is_set)
        self.game_file, self.awards_lately, self.table_acts = reads.game_file, reads.awards_lately, reads.table_acts
        self.meters_due, self.meter_file, self.day_acts = reads.meters_due, reads.meter_file, reads.day_acts
        self.day_open, self.log, self.wins = reads.day_open, reads.log, reads.wins
        self.meter_curve, self.owed_at, self._answered = reads.meter_curve, reads.owed_at, reads.answered
        self.versions, self.file_document, self._trial = reads.versions, reads.file_document, reads.trial
        self.plan, self.wiring, self.stats = plan, wiring, stats
        self.next = NextWiring(config, wiring, door)
        self._books, self._board, self._reader, self._merge = books, board, reader, merge
        self._path = file_of(ledger_url(wiring.ledger_url))
        self._changed = asyncio.Event()
        self._version, self._snapshot_of = 0, -1
        self._snapshot: Snapshot | None = None
        self._started_at = clock()
        self._notify = Notify.from_environment()
        self.history = History(folder_of(self._path), clock)
        self._units = {
            table.device: Unit(table, books, board, timer, self.history) for table in plan.tables.values()}
        self.strays = Strays(stats)
        self._lines = {line.id: self._serial_line(line) for line in wiring.lines}
        self._device_of_line = {line.id: line.device for line in wiring.lines}
        self._line_of_device = {line.device: self._lines[line.id] for line in wiring.lines}
        self._wires = {line.id: Wire(line.id, partial(self._send_frame, line.id)) for line in wiring.lines}
        self._mqtt = self._mqtt_line(wiring)
        if self._mqtt is not None:
            for device in self._units:
                self._wires[f"mqtt/{device}"] = Wire("mqtt", partial(self._send_json, device))
        self.signs = Signs(plan, wiring, clock, self._publish_meter, self.history)
        self._last_beat: dict[str, tuple[bytes, Up | NotTaken | None]] = {}
        self._sessions_lost = 0
        self._ready = False
        self._closed = self._why_closed()
        self._said = board.notes[0] if board.notes else None
        self._bell = Bell(plan, wiring, books, board, stats, None if self._mqtt is None else self._mqtt.tell_alarm,
                          fitting.words())
        self._odds = OddsAside(plan, self._bell.compare_hits, partial(self._keep, "odds", "", kind="fault"))
        self.odds = self._odds.look
        self.printers = Printers(wiring.printers, timer, stats)
        self.again = False
        """Whether it ends only to begin again at once, with a configuration that people have activated."""

    # ------------------------------------------------------------------ lines

    def _serial_line(self, line: LinePlan) -> SerialLine:
        serial = line.serial
        return SerialLine(
            line.id, serial.port, on_frame=self._frame, on_up=self._line_up, on_down=self._line_down,
            on_writable=self._writable, baud=serial.baud, bits=serial.bits, parity=serial.parity, stop=serial.stop)

    def _mqtt_line(self, wiring: Wiring) -> MqttLine | None:
        mqtt = wiring.mqtt
        if mqtt is None:
            return None
        return MqttLine(
            self.plan.site, mqtt.host, mqtt.port, mqtt.client_id, on_message=self._payload,
            on_state=self._device_state, on_up=self._mqtt_up, on_down=partial(self._line_down, "mqtt"),
            username=mqtt.username, password_file=mqtt.password_file, tls=mqtt.tls, ca_file=mqtt.ca_file,
            cert_file=mqtt.cert_file, key_file=mqtt.key_file, expect_session=self._heard_over_mqtt())

    def _heard_over_mqtt(self) -> bool:
        """Whether the ledger knows a unit without a serial line: the broker then has a session of ours (MQ-05)."""
        return any(device not in self._line_of_device for floor in self._books.floors.values()
                   for device, _ in floor.boots)

    def _send_frame(self, line: str, message: Down) -> bool:
        try:
            frame = encode_frame(encode_binary(message))
        except ValueError as wrong:  # longer than any frame: it can never be said, and must stop nothing else
            _log.error("table unit on %s cannot be told %s: %s", line, type(message).__name__, wrong)
            return True
        return self._lines[line].send(frame)

    def _send_json(self, device: str, message: Down) -> bool:
        return self._mqtt is not None and self._mqtt.send(device, encode_json(message))

    def _publish_meter(self, meter: str, payload: bytes) -> bool:
        return self._mqtt is not None and self._mqtt.up and self._mqtt.show_meter(meter, payload)

    def _frame(self, line: str, payload: bytes) -> None:
        device = self._device_of_line[line]
        # A quiet table says the same, byte for byte, every second: it is read once.
        known, message = self._last_beat.get(line, (b"", None))
        if payload != known:
            message = from_its_line(read_frame(self.plan, payload), device)
            if isinstance(message, Heartbeat):
                self._last_beat[line] = (payload, message)
        self._message(line, device, message, self._wires[line])

    def _payload(self, device: str, payload: bytes, retained: bool) -> None:
        line = f"mqtt/{device}"
        if retained:
            _log.info("%s: a retained copy came from the broker; it counts only if it is new", line)
        message = from_its_line(read_json(self.plan, payload), device)
        unit = self._units.get(device)
        if unit is not None and not isinstance(message, NotTaken):
            unit.counts["messages"] += 1
        self._message(line, device, message, self._wires.get(line), retained=retained)

    def _message(
        self, line: str, device: str, message: Up | NotTaken | None, wire: Wire | None, *, retained: bool = False
    ) -> None:
        unit = self._units.get(device)
        if isinstance(message, NotTaken):
            if unit is not None:
                unit.counts["malformed"] += 1
            self._say(self.strays.add(message, unit.table.id if unit else "", line, clock()))
        elif message is not None and unit is not None and wire is not None:
            unit.heard(wire, message, clock(), retained=retained)
            if not isinstance(message, Heartbeat):
                unit.flush()

    def _device_state(self, device: str, payload: bytes) -> None:
        unit = self._units.get(device)
        if unit is not None and payload == b"offline":
            unit.session.lost("mqtt")
            self._look()

    def _line_up(self, line: str) -> None:
        unit = self._units[self._device_of_line[line]]
        unit.counts["reconnects"] += 1
        self.history.line(line, True)
        unit.ask(self._wires[line])
        self._keep("line-up", unit.table.id, f"Line {line} is connected")

    def _mqtt_up(self, session_present: bool) -> None:
        lost = self._mqtt.counters["sessions_lost"] if self._mqtt is not None and not session_present else 0
        if lost != self._sessions_lost:
            self._sessions_lost = lost
            self._keep(
                "broker-forgot", "", "The broker has forgotten what it kept for the controller",
                "nothing is lost, the table units send again; let the technician look at the broker", kind="alarm")
        self._bell.broker_came_back()
        self.history.line("mqtt", True)
        for device, one in self._units.items():
            if device not in self._line_of_device:
                one.ask(self._wires[f"mqtt/{device}"])
        self._keep("line-up", "", "The broker is connected")

    def _line_down(self, line: str, cause: str) -> None:
        self.history.line(line, False, cause)
        for unit in self._units.values():
            if unit.wire is not None and unit.wire.name == line:
                unit.session.lost(line)
        table = self._units[self._device_of_line[line]].table.id if line in self._device_of_line else ""
        where = f"Line {line}" if table else "The broker"
        remedy = "look at the cable and the power of the table unit" if table else "look at the broker and the network"
        self._keep("line-down", table, f"{where} is down: {cause}", remedy, kind="fault")
        self._look()

    def _keep(self, cause: str, table: str, what: str, remedy: str = "nothing to do", kind: str = "notice") -> None:
        self.strays.keep(Note(clock(), kind, cause, table, what, remedy, None))
        self._bump()

    def _writable(self, line: str) -> None:
        self._units[self._device_of_line[line]].flush()

    # ------------------------------------------------------------------ what the pages see (Source)

    def _bump(self) -> None:
        self._version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    def books_changed(self) -> None:
        """A batch is durable, or the books' health changed: answer the units and tell the pages."""
        closed, before = self._why_closed(), self._closed
        self._closed = closed
        for unit in self._units.values():
            if unit.answered or closed != before:
                unit.pulse(always=False)
        if closed != before:
            self._tell_trouble()
        changed = any(floor.plan.hash != self.plan.hash for floor in self._books.floors.values())
        if changed and not self._stop.is_set():
            _log.info("the configuration has changed; starting again with it")
            self.again = True
            self.end()
        for note in takewhile(lambda note: note is not self._said, self._board.notes):
            self._say(note)
        self._said = self._board.notes[0] if self._board.notes else None
        self._bump()

    def _why_closed(self) -> list[str]:
        return [self._books.why_closed(book) for book in self._books.floors]

    def _tell_trouble(self) -> None:
        if self._books.trouble:
            remedy = f"look at the disk of {self._path.parent}; wagers are taken again by themselves when it is well"
            self._keep("ledger", "", f"No wagers are taken: {self._books.trouble}", remedy, kind="fault")

    def _say(self, note: Note) -> None:
        """What people see as a note is in the log too (I5)."""
        level = logging.INFO if note.kind == "notice" else logging.WARNING
        table = f"table {note.table}" if note.table else "floor"
        # The cause stands in the words themselves, so that only the like of it is merged.
        _log.log(level, f"%s: %s; %s [{note.cause}]", table, note.what, note.remedy)
        self._bump()

    def snapshot(self) -> Snapshot:
        """The newest view of everything durable, and of the lines; made once for each change."""
        made, now = self._snapshot, clock()
        if made is None or self._snapshot_of != self._version or abs(now - made.at) > FRESH_US:
            self._snapshot_of = self._version
            made = self._snapshot = self._view(now)
        return made

    def _view(self, now: int) -> Snapshot:
        board = self._board
        notes = sorted((*board.notes, *self.strays.notes), key=lambda note: -note.at)[:100]
        devices = {}
        for device, unit in self._units.items():
            line = self._line_of_device.get(device)
            devices[device] = unit.view(line.counters if line is not None else {})
        return Snapshot(
            plan=self.plan, at=now, started_at=self._started_at, version=VERSION, entries=dict(board.entries),
            meters=dict(board.meters), tables=dict(board.tables), awards=board.awards, envy=board.envy,
            pending_awards=board.awards_pending, notes=tuple(notes), stopped=self._stopped(),
            devices=devices, signs=self.signs.health(), ready=self._ready, trouble=self._books.trouble,
            waiting=board.waiting)

    def _stopped(self) -> str:
        return next((why for why in self._board.stopped.values() if why), "")

    def version(self) -> int:
        """Rises with every change that a page shows."""
        return self._version

    async def wait(self, version: int) -> None:
        """Return when the version is no longer ``version``."""
        while self._version == version:
            await self._changed.wait()

    def sign_shown(self, sign: str) -> Shown | None:
        """What a sign shows now."""
        return self.signs.shown.get(sign)

    def rows(self, book: str, kind: str) -> Mapping[str, Mapping[str, Any]]:
        """The newest state rows of a kind that people have made in a book, by key."""
        return self._board.rows.get((book, kind), {})

    async def act(self, book: str, asked: Act) -> Acted:
        """Do what people ask; returns after the commit, or raises ActRefused."""
        if asked.kind in WHOLE_FLOOR:
            return await act_everywhere(self._books, asked)
        also: Callable[[], object] = partial(self._ask_unit, asked)
        if asked.kind == "config-activated" and book in self._books.floors:
            also = await self.next.trial(lambda: self._books.floors[book], asked)
        acted = await self._books.act(book, asked, also)
        if asked.kind in ("hold-set", "hold-lifted"):
            kept = self.rows(book, "hold")
            reasons = [f"{name}: {row['reason']}" for name, row in sorted(kept.items())]
            await asyncio.to_thread(write_holds, folder_of(self._path), reasons)
        return await self._answered(asked, acted)

    async def meter_trial(self, asked: Act) -> Outcome:
        """What an act would do to the meters as the ledger has them; raises ActRefused or LedgerError."""
        return await self._trial(asked, clock())

    def _ask_unit(self, asked: Act) -> None:
        """A table is closed only by what its unit has sent; raises ActRefused."""
        for unit in self._units.values():
            if asked.kind == "table-closed" and unit.table.id == asked.fields["table"]:
                unit.check_closing(asked)

    # ------------------------------------------------------------------ the ticker

    def _look(self, *, at_all: bool = True) -> None:
        """Look at the units, or at those heard since the last look: what has changed is told to them and to people."""
        changed = False
        for unit in self._units.values():
            yes, why = unit.playable_seen
            if (at_all or unit.heard_since) and unit.look():
                changed = True
                unit.pulse(always=False)
                if unit.playable_seen != (yes, why):
                    self._say_playable(unit)
        if changed:
            self._bump()

    def _say_playable(self, unit: Unit) -> None:
        yes, why = unit.playable_seen
        self.history.playable(unit.table.id, yes, why)
        if yes:
            _log.info("table %s: the progressive is open", unit.table.id)
        else:
            _log.warning("table %s: no progressive wagers: %s", unit.table.id, why)

    async def _tick(self) -> None:
        """Four times a second: lines looked at, signs told; once a second: the host's pulse, the watchdog fed."""
        pulse_at = 0.0
        signs_of = -1
        while not self._stop.is_set():
            now = timer()
            due = now >= pulse_at
            self._look(at_all=due)
            if due:
                pulse_at = now + PULSE_S
                self._each_second()
            if due or self._version != signs_of or self.signs.moving:
                signs_of = self._version
                if self.signs.update(self.snapshot(), signs_of, clock()):
                    self._bump()
            await asyncio.sleep(TICK_S)

    def alarms(self) -> Sequence[Alarm]:
        """Every alarm that people should see."""
        return self._bell.alarms()

    def _each_second(self) -> None:
        for unit in self._units.values():
            unit.pulse(always=True)
        if self._bell.look(self.snapshot(), clock()):
            self._bump()
        self._watch()
        self._sizes()
        self._merge.say_left_out()

    def _watch(self) -> None:
        """Feed the watchdog: this loop is alive, and the writer makes progress."""
        if self._books.stuck_s() < STUCK_S:
            now = timer()
            live = len([unit for unit in self._units.values() if unit.session.state(now) == "live"])
            trouble = self._books.trouble or self._stopped()
            status = f"{live} of {len(self._units)} tables live; {trouble or 'books open'}"
            self._notify.say("WATCHDOG=1", f"STATUS={status}")

    def _sizes(self) -> None:
        wal = self._path.with_name(self._path.name + "-wal")
        self.stats.ledger_bytes = self._path.stat().st_size if self._path.exists() else 0
        self.stats.wal_bytes = wal.stat().st_size if wal.exists() else 0

    # ------------------------------------------------------------------ life

    def end(self) -> None:
        """Begin to end."""
        self._stop.set()

    def stop(self) -> None:
        """Begin to stop for good."""
        self.again = False
        self._stop.set()

    async def run(self) -> None:
        """Start everything, say READY, run until ``end``, and end cleanly within 5 s."""
        server = serving = None
        if self.wiring.web is not None:
            self._door.open(self.wiring.web)
            app, shut = open_app(self, self._path)
            server, listening = self._door.server(app)
            if shut:  # money goes on
                self._bell.file_not_in_use(shut)
                self._keep("file-not-in-use", "", shut[:300], "let the technician look at the log", kind="fault")
            serving = asyncio.create_task(server.serve(sockets=[listening]), name="pages")
            _log.info("pages on %s", self._door.address)
        self._say_left_out()
        self.history.start(f"meterd {VERSION}")
        self.signs.update(self.snapshot(), self._version, clock())
        self.signs.start()
        self._odds.start()
        for line in self._lines.values():
            line.start()
        if self._mqtt is not None:
            self._mqtt.start()
        ticking = asyncio.create_task(self._tick(), name="ticker")
        getting_ready = asyncio.create_task(self._get_ready(), name="getting ready")
        stopping = asyncio.create_task(self._stop.wait())
        ended = await asyncio.wait({stopping, ticking, *([serving] if serving else [])}, return_when="FIRST_COMPLETED")
        getting_ready.cancel()
        await self._end(server, serving, ticking)
        for task in ended[0]:
            task.result()

    def _say_left_out(self) -> None:
        for what, remedy in self._fitting.told(self._door.trouble):
            _log.warning("the file on the box: %s; %s", what, remedy)
            self._keep("file-not-in-use", "", what, remedy, kind="fault")

    async def _get_ready(self) -> None:
        await self.signs.told(SIGNS_S)
        self._ready = True
        self._bump()
        self._notify.say("READY=1")

    async def _end(
        self, server: Server | None, serving: asyncio.Task[None] | None, ticking: asyncio.Task[None]
    ) -> None:
        _log.info("stopping")
        self._notify.say("STOPPING=1")
        self._ready = False
        self._stop.set()
        self.printers.end()
        await asyncio.sleep(TOLD_S)
        await self._books.close(CLOSE_S)
        for unit in self._units.values():
            unit.goodbye()
        await asyncio.gather(self._odds.end(), *(line.stop() for line in self._lines.values()))
        if server is not None:
            server.should_exit = True
        ends: list[Coroutine[Any, Any, Any]] = [self.signs.end(), asyncio.to_thread(self._bell.end)]
        if self._mqtt is not None:
            ends.append(self._mqtt.stop())
        if serving is not None:
            ends.append(asyncio.wait({serving}, timeout=2.0))
        for wrong in await asyncio.gather(*ends, return_exceptions=True):
            if isinstance(wrong, BaseException):
                _log.error("while stopping: %s", wrong)
        ticking.cancel()
        await asyncio.wait({ticking}, timeout=0.1)
        await asyncio.to_thread(self.history.end)
        self._merge.say_left_out(all_of_it=True)
        _log.info("stopped")
