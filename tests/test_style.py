"""The house style as rules over every Python file, shipped or test, committed or not (design section 6).

Each rule is a function from one file to the places that break it; a failure lists file, line and what is wrong.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LEFT_OUT = {"build", "var", "node_modules"}

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70

MONEY_ROOMS = (
    "controller/money.py",
    "controller/paytable.py",
    "controller/plan.py",
    "controller/meter.py",
    "controller/rounds.py",
    "controller/floor.py",
    "controller/floor_state.py",
    "controller/intake.py",
    "controller/journal.py",
    "controller/ledger/",
    "controller/award_acts.py",
    "controller/corrections.py",
    "controller/manual_slips.py",
    "controller/meter_acts.py",
    "controller/slip.py",
    "controller/slip_acts.py",
    "controller/reports/awards.py",
    "controller/reports/derivation.py",
    "controller/reports/movements.py",
    "controller/reports/reconciliation.py",
    "controller/reports/reserve.py",
    "controller/reports/tables.py",
)
"""Where money is reckoned or kept: whole numbers only (MO-09, DB-05)."""

PRINTING_ROOMS = ("controller/cli.py", "controller/demo.py", "tests/")
"""Programs that speak to a terminal; everybody else logs."""

UNFINISHED = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX")) + r")\b")
MACHINE_PATH = re.compile(r"/(?:" + "|".join(("work", "root", "home", "Users")) + r")/")
EMPTY_NAMES = re.compile(
    r"(?:^|_)(?:manager|handler|utils?|helpers?|misc|common)(?:_|$)|(?:Manager|Handler|Utils|Helper)$"
)
"""Names that say nothing of the trade (design section 2)."""


@dataclass(frozen=True)
class Source:
    """One Python file: its path from the project's folder, and its text."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text)

    def nodes(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        """Every node of those kinds."""
        return (node for node in ast.walk(self.tree) if isinstance(node, kinds))


Found = Iterator[tuple[int, str]]
Rule = Callable[[Source], Found]


def _sources() -> list[Source]:
    paths = (path for path in ROOT.rglob("*.py") if not _is_left_out(path.relative_to(ROOT)))
    return [Source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in sorted(paths)]


def _is_left_out(path: Path) -> bool:
    return any(part in LEFT_OUT or part.startswith(".") or part.endswith(".egg-info") for part in path.parts)


SOURCES = _sources()


def _lies_in(source: Source, rooms: tuple[str, ...]) -> bool:
    return source.name.startswith(rooms)


def _is_shipped(source: Source) -> bool:
    return _lies_in(source, ("controller/", "firmware_bridge/"))


def long_file(source: Source) -> Found:
    """A file is one idea of the trade."""
    lines = source.text.count("\n")
    if lines > FILE_LINES_MAX:
        yield lines, f"{lines} lines; at most {FILE_LINES_MAX}: split it where the idea changes"


def long_function(source: Source) -> Found:
    """A function fits on a screen."""
    for node in source.nodes(ast.FunctionDef, ast.AsyncFunctionDef):
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if lines > FUNCTION_LINES_MAX:
            yield node.lineno, f"{node.name} has {lines} lines; at most {FUNCTION_LINES_MAX}"


def swallowed_error(source: Source) -> Found:
    """No error is swallowed (design section 9)."""
    for node in source.nodes(ast.ExceptHandler):
        assert isinstance(node, ast.ExceptHandler)
        if node.type is None:
            yield node.lineno, "bare except: name the error"
        elif ast.unparse(node.type) in ("Exception", "BaseException") and _does_nothing(node.body):
            yield node.lineno, "swallows every error: name it, or say what became of it"
    for node in source.nodes(ast.Call):
        assert isinstance(node, ast.Call)
        if ast.unparse(node.func).endswith("suppress") and any(
            ast.unparse(kind) in ("Exception", "BaseException") for kind in node.args
        ):
            yield node.lineno, "suppresses every error: name it"


def _does_nothing(body: list[ast.stmt]) -> bool:
    return all(isinstance(step, ast.Pass | ast.Continue) or _is_words(step) for step in body)


def _is_words(step: ast.stmt) -> bool:
    return isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant)


def float_near_money(source: Source) -> Found:
    """Money is whole microcents: no float, no true division, no Decimal column (MO-09, DB-05)."""
    if not _lies_in(source, MONEY_ROOMS):
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float | complex):
            yield node.lineno, f"float {node.value} near money"
        elif isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div):
            yield node.lineno, f"true division near money: {ast.unparse(node)}"
        elif isinstance(node, ast.Name) and node.id in ("float", "Float", "Numeric", "Decimal"):
            yield node.lineno, f"{node.id} near money"


def unfinished(source: Source) -> Found:
    """What is delivered is whole."""
    for number, line in enumerate(source.text.splitlines(), 1):
        if UNFINISHED.search(line):
            yield number, f"unfinished work: {line.strip()}"
    for node in source.nodes(ast.Raise):
        if "NotImplementedError" in ast.unparse(node):
            yield getattr(node, "lineno", 0), "a part that is not there"


def printing(source: Source) -> Found:
    """A daemon logs; only programs for a terminal print."""
    if _lies_in(source, PRINTING_ROOMS):
        return
    for node in source.nodes(ast.Call):
        assert isinstance(node, ast.Call)
        if isinstance(node.func, ast.Name) and node.func.id in ("print", "breakpoint", "input"):
            yield node.lineno, f"{node.func.id}() in a room that has no terminal"


def machine_path(source: Source) -> Found:
    """Nothing depends on where somebody's copy lies."""
    for number, line in enumerate(source.text.splitlines(), 1):
        if MACHINE_PATH.search(line):
            yield number, f"a path of one machine: {line.strip()}"


def left_out_test(source: Source) -> Found:
    """No test is skipped or expected to fail; what a machine lacks, the set-up names."""
    if not _lies_in(source, ("tests/",)):
        return
    for node in source.nodes(ast.Attribute, ast.Name):
        words = ast.unparse(node)
        if re.search(r"\b(?:skip|skipif|xfail|importorskip|SkipTest)$", words):
            yield getattr(node, "lineno", 0), f"a test that may not run: {words}"


def missing_docstring(source: Source) -> Found:
    """Public names say what they mean, in which units, and what they refuse."""
    if not _is_shipped(source):
        return
    if not ast.get_docstring(source.tree):
        yield 1, "the file does not say what it is"
    for node in _public(source.tree.body):
        if not ast.get_docstring(node):
            yield node.lineno, f"{node.name} does not say what it means"


def _public(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from _public(node.body)


def empty_name(source: Source) -> Found:
    """Names come from the trade (design section 2)."""
    if EMPTY_NAMES.search(Path(source.name).stem):
        yield 1, f"{source.name} says nothing of the trade"
    for node in source.nodes(ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef):
        assert isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if EMPTY_NAMES.search(node.name):
            yield node.lineno, f"{node.name} says nothing of the trade"


RULES: tuple[Rule, ...] = (
    long_file,
    long_function,
    swallowed_error,
    float_near_money,
    unfinished,
    printing,
    machine_path,
    left_out_test,
    missing_docstring,
    empty_name,
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_file_keeps_the_rule(rule: Rule) -> None:
    """One rule over all files; the list names each place that breaks it."""
    assert [f"{source.name}:{line} {words}" for source in SOURCES for line, words in rule(source)] == []


def test_the_money_rooms_are_where_the_rule_looks() -> None:
    """A room that moved would be checked no more."""
    assert [room for room in MONEY_ROOMS if not (ROOT / room).exists()] == []


BROKEN: dict[Rule, str] = {
    long_file: "x = 1\n" * (FILE_LINES_MAX + 1),
    long_function: "def f():\n" + "    x = 1\n" * FUNCTION_LINES_MAX,
    swallowed_error: "try:\n    x = 1\nexcept Exception:\n    pass\n",
    float_near_money: "cents = 1 / 2\n",
    unfinished: "x = 1  # TO" + "DO later\n",
    printing: "print('x')\n",
    machine_path: "folder = '/ho" + "me/somebody/x'\n",
    left_out_test: "import pytest\n@pytest.mark.sk" + "ip\ndef test_x(): ...\n",
    missing_docstring: '"""A file."""\ndef public(): ...\n',
    empty_name: "class MeterManager: ...\n",
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_file_that_breaks_the_rule_is_found(rule: Rule) -> None:
    """The search itself: a rule that cannot fail is no rule."""
    where = "tests/test_probe.py" if rule is left_out_test else "controller/money.py"
    assert len(list(rule(Source(where, BROKEN[rule])))) == 1
