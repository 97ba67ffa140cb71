"""The import table: who may use what, as tables (design sections 1 and 6). Read from the source, not imported."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]

PURE_ROOMS = (
    "controller.act_types",
    "controller.acts",
    "controller.award",
    "controller.ledger.chain",
    "controller.evidence_check",
    "controller.award_acts",
    "controller.envy_acts",
    "controller.begun",
    "controller.carried",
    "controller.changes",
    "controller.config_times",
    "controller.proposals",
    "controller.waiting_config",
    "controller.links",
    "controller.resets",
    "controller.corrections",
    "controller.checks",
    "controller.day_acts",
    "controller.desk",
    "controller.losses",
    "controller.manual_slips",
    "controller.meter_acts",
    "controller.money",
    "controller.outcome",
    "controller.paytable",
    "controller.people",
    "controller.people_acts",
    "controller.register",
    "controller.sign_in",
    "controller.plan",
    "controller.slip",
    "controller.slip_acts",
    "controller.slip_pdf",
    "controller.table_acts",
    "controller.config_acts",
    "controller.config_awards",
    "controller.config_build",
    "controller.config_change",
    "controller.config_floor",
    "controller.meter",
    "controller.rounds",
    "controller.floor",
    "controller.floor_state",
    "controller.refusal",
    "controller.journal",
    "controller.taken",
    "controller.board",
    "controller.intake",
    "controller.layout",
    "controller.snapshot",
    "controller.wiring",
    "controller.award_lives",
    "controller.gaming_day",
    "controller.config_remarks",
    "controller.describe",
    "controller.reports.as_csv",
    "controller.reports.as_pdf",
    "controller.reports.awards",
    "controller.reports.catalogue",
    "controller.reports.changes",
    "controller.reports.corrections",
    "controller.reports.derivation",
    "controller.reports.due",
    "controller.reports.due_once",
    "controller.reports.faults",
    "controller.reports.filing",
    "controller.reports.games",
    "controller.reports.liability",
    "controller.reports.meters",
    "controller.reports.movements",
    "controller.reports.not_metered",
    "controller.reports.open_awards",
    "controller.reports.payments",
    "controller.reports.reading",
    "controller.reports.reconciliation",
    "controller.reports.report",
    "controller.reports.reserve",
    "controller.reports.slips",
    "controller.reports.software",
    "controller.reports.standing",
    "controller.reports.tables",
    "controller.reports.wins",
    "controller.reports.words",
    "controller.alarm_plan",
    "controller.alarm_kinds",
    "controller.alarms",
    "controller.alarm_acts",
    "controller.alarm_board",
    "controller.watch",
    "controller.drift",
    "controller.config_alarms",
    "controller.config_printers",
    "controller.sign",
    "controller.config_reader",
    "controller.config_paytable",
    "controller.game",
    "controller.game.cards",
    "controller.game.hands",
    "controller.game.rows",
    "controller.game.best",
    "controller.game.tables",
    "controller.game.claim",
    "controller.game.classify",
    "controller.game.this_game",
    "controller.game.set_hands",
    "controller.game.round_form",
    "controller.game.cap",
    "controller.game.round_check",
    "controller.game.settle",
    "controller.game.odds",
    "controller.game.odds_counts",
    "controller.game.odds_ace_high",
    "controller.game.odds_remarks",
    "firmware_bridge.frames",
    "firmware_bridge.fields",
    "firmware_bridge.message_types",
    "firmware_bridge.messages",
    "firmware_bridge.session",
    "firmware_bridge.outbox",
    "firmware_bridge.device",
)
"""Rooms that are told time, randomness and input as arguments, and touch nothing."""

# fmt: off
OUTSIDE_WORLD = frozenset({
    "aiomqtt", "asyncio", "click", "fastapi", "fcntl", "io", "jinja2", "logging", "os", "paho",
    "prometheus_client", "queue", "secrets", "select", "selectors", "serial", "shutil", "signal", "socket",
    "sqlalchemy", "sqlite3", "ssl", "starlette", "subprocess", "sys", "tempfile", "termios", "threading",
    "time", "tty", "urllib", "uuid", "uvicorn",
})
"""Modules that no pure room imports: input, output, clocks, threads, frameworks."""

ONLY_IN = {
    "sqlalchemy": ("controller.ledger", "controller.vault"),
    "argon2": ("controller.vault",),
    "fpdf": ("controller.slip_pdf", "controller.reports"),
    "sqlite3": ("controller.ledger",),
    "serial": ("firmware_bridge",),
    "termios": ("firmware_bridge",),
    "aiomqtt": ("firmware_bridge",),
    "paho": ("firmware_bridge",),
    "fastapi": ("controller.web",),
    "starlette": ("controller.web",),
    "jinja2": ("controller.web",),
    "uvicorn": ("controller.web",),
    "prometheus_client": ("controller.metrics", "controller.web"),
    "click": ("controller.cli", "controller.cli_act", "controller.cli_daemon", "controller.cli_desk",
              "controller.cli_evidence", "controller.cli_game", "controller.cli_odds", "controller.cli_people",
              "controller.cli_reports", "controller.cli_signers", "controller.cli_slip", "controller.cli_trail"),
}
"""Modules that only these rooms import: a wire, the database, the pages and the command line each have one home."""

CLOCK_READERS = {
    "controller.daemon": "the one room of the daemon that reads a clock (design section 6)",
    "controller.cli_slip": "a program of its own: it waits for a printer no longer than a bound",
    "controller.cli_trail": "a program of its own: what leaves the box is kept with the time at which it did",
    "controller.cli_people": "a program of its own: what two people do on the box is stamped with the present",
    "controller.cli_desk": "a program of its own: what a proposed configuration makes of the present day",
    "controller.cli": "a program of its own: `apply` without --at and `clear` stamp their entries with the present",
    "controller.demo": "a program of its own: it makes a demo ledger, opened at the present",
}
"""Rooms of the controller that read a clock, each with its reason. Everybody else is told the time."""

CLOCKS = frozenset({
    "time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns", "time.perf_counter",
    "time.perf_counter_ns", "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today",
    "datetime.date.today",
})
# fmt: on


class Import(NamedTuple):
    """One import: the room that has it, its line, and the module that it names."""

    room: str
    line: int
    module: str


def room_of(path: Path) -> str:
    """``controller.ledger.writer`` for its file; a package is its folder."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def source_files(*packages: str) -> list[Path]:
    """The files of the packages."""
    return sorted(path for package in packages for path in (ROOT / package).rglob("*.py"))


def is_inside(module: str, room: str) -> bool:
    """Whether a module is a room, or lies in it."""
    return module == room or module.startswith(room + ".")


def imports_of(path: Path) -> Iterator[Import]:
    """Every import of a file, those inside functions too; ``from a import b`` names ``a`` and ``a.b``."""
    room = room_of(path)
    package = room.split(".") if path.name == "__init__.py" else room.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (Import(room, node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield Import(room, node.lineno, module)
            yield from (Import(room, node.lineno, f"{module}.{alias.name}") for alias in node.names)


PRODUCTION = [found for path in source_files("controller", "firmware_bridge") for found in imports_of(path)]
ROOMS = {room_of(path) for path in source_files("controller", "firmware_bridge")}


def told(broken: list[Import]) -> list[str]:
    """The imports as lines that lead to the place."""
    return sorted({f"{found.room}:{found.line} imports {found.module}" for found in broken})


def test_the_bridge_knows_no_money() -> None:
    """``firmware_bridge`` never imports ``controller`` (design section 1)."""
    broken = [found for found in PRODUCTION if is_inside(found.room, "firmware_bridge")]
    assert told([found for found in broken if is_inside(found.module, "controller")]) == []


def test_what_is_shipped_needs_no_test() -> None:
    """A production file that imports from ``tests`` breaks where the tests are not installed."""
    names = {"tests", "pytest", "hypothesis", *(path.stem for path in (ROOT / "tests").glob("*.py"))}
    assert told([found for found in PRODUCTION if found.module.split(".")[0] in names]) == []


@pytest.mark.parametrize("room", PURE_ROOMS)
def test_a_pure_room_touches_nothing_outside(room: str) -> None:
    """Time, randomness and input come as arguments (design section 6)."""
    assert room in ROOMS, f"{room} is not there: correct PURE_ROOMS"
    mine = [found for found in PRODUCTION if found.room == room]
    assert told([found for found in mine if found.module.split(".")[0] in OUTSIDE_WORLD]) == []


@pytest.mark.parametrize("room", PURE_ROOMS)
def test_a_pure_room_leans_on_pure_rooms_only(room: str) -> None:
    """A room that imports an impure one is impure itself."""
    ours = [found for found in PRODUCTION if found.room == room and found.module in ROOMS]
    packages = {"controller", "firmware_bridge"}
    assert told([found for found in ours if found.module not in {*PURE_ROOMS, *packages}]) == []


@pytest.mark.parametrize("room", PURE_ROOMS)
def test_a_pure_room_draws_no_randomness_of_its_own(room: str) -> None:
    """``random.Random`` may be taken as an argument; the module's own generator may not be used."""
    place = ROOT / room.replace(".", "/")
    tree = ast.parse((place / "__init__.py" if place.is_dir() else place.with_suffix(".py")).read_text())
    drawn = [
        f"{room}:{node.lineno} random.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "random"
        and node.attr != "Random"
    ]
    assert drawn == []


@pytest.mark.parametrize("module", sorted(ONLY_IN))
def test_each_part_of_the_outside_world_has_one_home(module: str) -> None:
    """Who needs one of these asks the room that owns it, or the table above is changed with a reason."""
    users = [found for found in PRODUCTION if is_inside(found.module, module)]
    assert told([found for found in users if not any(is_inside(found.room, home) for home in ONLY_IN[module])]) == []


def clock_names(tree: ast.Module) -> dict[str, str]:
    """Local names that mean a module or function of a clock, as written in full."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update({alias.asname or alias.name: alias.name for alias in node.names})
        elif isinstance(node, ast.ImportFrom) and node.module in ("time", "datetime"):
            names.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    return names


def clock_reads(source: str) -> Iterator[tuple[int, str]]:
    """Line and words of each place where a clock is named, under whatever local name."""
    tree = ast.parse(source)
    names = clock_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            first, dot, rest = ast.unparse(node).partition(".")
            if names.get(first, first) + dot + rest in CLOCKS:
                yield node.lineno, ast.unparse(node)


def test_only_the_daemon_reads_a_clock() -> None:
    """What is told the time can be tried at any time: change nights, years, leap days (SD-07)."""
    files = [path for path in source_files("controller") if room_of(path) not in CLOCK_READERS]
    found = [f"{room_of(path)}:{line} {words}" for path in files for line, words in clock_reads(path.read_text())]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "import time\ntime.monotonic()",
        "import time as t\nt.time()",
        "from time import perf_counter as p\np()",
        "from datetime import datetime as d\nd.now()",
        "import datetime\ndatetime.date.today()",
        "from time import time\nclock = time",
    ],
)
def test_a_clock_is_found_under_any_name(source: str) -> None:
    """The search itself: a rule that cannot fail is no rule."""
    assert [line for line, _ in clock_reads(source)][-1:] == [2]
