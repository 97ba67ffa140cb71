"""The log: a few lines a minute of one thing, the rest counted and said, nothing forged (SD-09)."""

import logging

import pytest

from controller.log import BURST, BURST_OF_ALL, CAUSES_MAX, LINE_MAX, WHOLE, WINDOW_S, MergeRepeats, OneLine


class Clock:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Kept(logging.Handler):
    """Keeps the lines that were written."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


class Written:
    """A logger of its own behind a merger."""

    def __init__(self, name: str) -> None:
        self.clock, self.suppressed, self._kept = Clock(), 0, Kept()
        self.lines = self._kept.lines
        self.merge = MergeRepeats(self.clock, self._count)
        self._kept.addFilter(self.merge)
        self.log = logging.getLogger(name)
        for logger in (self.log, logging.getLogger("meterd.log")):
            logger.handlers[:] = [self._kept]
            logger.propagate = False
        self.log.setLevel(logging.INFO)

    def _count(self, more: int) -> None:
        self.suppressed += more


@pytest.fixture
def written(request: pytest.FixtureRequest) -> Written:
    return Written(f"test.{request.node.name}")


def test_the_first_lines_of_one_thing_are_written_and_the_rest_counted(written: Written) -> None:
    for number in range(1000):
        written.log.warning("line %s: off, %d", "serial-01", number)
    assert (len(written.lines), written.suppressed) == (BURST, 1000 - BURST)


def test_the_latest_of_what_was_left_out_is_said_when_the_minute_is_over(written: Written) -> None:
    for number in range(BURST + 3):
        written.log.warning("line %s: off, %d", "serial-01", number)
    written.clock.now = WINDOW_S
    written.merge.say_left_out()
    assert written.lines[-1] == f"3 more in the last 60 s, the latest: line serial-01: off, {BURST + 2}"


def test_nothing_is_said_of_a_minute_in_which_nothing_was_left_out(written: Written) -> None:
    written.log.warning("line %s: off", "serial-01")
    written.clock.now = WINDOW_S
    written.merge.say_left_out()
    assert written.lines == ["line serial-01: off"]


def test_what_was_left_out_is_said_at_the_end_of_the_daemon_too(written: Written) -> None:
    for _ in range(BURST + 1):
        written.log.warning("off")
    written.merge.say_left_out(all_of_it=True)
    assert written.lines[-1] == "1 more in the last 0 s, the latest: off"


def test_one_table_does_not_silence_another(written: Written) -> None:
    for _ in range(100):
        written.log.warning("table %s: refused", "PG-01")
    written.log.warning("table %s: refused", "PG-02")
    assert written.lines[-1] == "table PG-02: refused"


def test_a_thousand_names_of_one_thing_are_a_flood(written: Written) -> None:
    for number in range(1000):
        written.log.warning("unit %s: unknown", f"hub-{number}")
    assert len(written.lines) == BURST_OF_ALL


def test_after_a_minute_the_same_thing_is_written_again(written: Written) -> None:
    for _ in range(BURST):
        written.log.warning("off")
    written.clock.now = WINDOW_S
    written.log.warning("off")
    assert written.lines == ["off"] * (BURST + 1)


def test_a_critical_line_is_never_left_out(written: Written) -> None:
    for _ in range(20):
        written.log.critical("the books are stopped")
    assert len(written.lines) == 20


def test_the_head_of_the_log_is_written_whole(written: Written) -> None:
    for number in range(200):
        written.log.info("configuration: %s", number, extra=WHOLE)
    assert len(written.lines) == 200


def test_the_merger_remembers_a_bounded_number_of_things(written: Written) -> None:
    for number in range(CAUSES_MAX * 3):
        written.log.warning(f"thing {number}")
    assert len(written.merge._seen) == CAUSES_MAX


def record(text: str, level: int = logging.WARNING) -> logging.LogRecord:
    return logging.LogRecord("meterd", level, __file__, 1, "%s", (text,), None)


def test_a_message_cannot_forge_a_second_line() -> None:
    made = OneLine("%(message)s").format(record("bad\n<2>meterd CRITICAL all is lost\x1b[2J\r"))
    assert made == r"<4>bad\n<2>meterd CRITICAL all is lost\x1b[2J\r"


def test_a_line_is_cut_at_its_bound() -> None:
    assert len(OneLine("%(message)s").format(record("x" * 100_000))) == LINE_MAX + len("<4>")


@pytest.mark.parametrize(
    ("level", "priority"),
    [(logging.CRITICAL, "<2>"), (logging.ERROR, "<3>"), (logging.WARNING, "<4>"), (logging.INFO, "<6>"),
     (logging.DEBUG, "<7>")])
def test_the_journal_is_told_how_grave_a_line_is(level: int, priority: str) -> None:
    assert OneLine("%(message)s").format(record("x", level)) == f"{priority}x"
