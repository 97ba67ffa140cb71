"""A picture of a meter's lives as SVG: how high it stood at hits, how long it took, and the first run's course. Pure.

Plain shapes and text of fixed sizes, readable on paper and in any browser; nothing is loaded from elsewhere.
"""

from collections.abc import Callable, Sequence
from html import escape
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from controller.game.odds import MeterOdds
from controller.game.simulate import Lives, Span
from controller.money import format_cents

WIDTH, HEIGHT = 960, 900
BARS = 40
COURSE_HITS = 30
"""Hits of the first run that its course shows."""

_LEFT, _RIGHT, _TALL = 100, 920, 170
_INK, _BAR, _LINE, _MARK = "#222222", "#8fb3d9", "#3b6ea5", "#b5412b"


class _Axis(NamedTuple):
    """A stretch of numbers laid on a stretch of the picture."""

    low: float
    high: float
    start: float
    end: float

    def at(self, number: float) -> float:
        """Its place in the picture."""
        return self.start + (number - self.low) / ((self.high - self.low) or 1.0) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Five numbers, evenly apart."""
        return [self.low + (self.high - self.low) * step / 4 for step in range(5)]


def lives_svg(title: str, odds: MeterOdds, span: Span, lives: Lives) -> str:
    """The whole picture; a meter that was never hit has two empty panels and says so."""
    dollars, days = lives.hit_cents / 100, lives.gaps / span.wagers_per_day
    first = lives.of_first_run
    hits = f"{lives.hits.sum():,} hits in {span.runs:,} runs of {span.wagers:,} wagers"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="14" fill="{_INK}" role="img">',
        f"<title>{escape(title)}: the life of its meter</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(_LEFT, 34, escape(title), size=22),
        _text(_LEFT, 58, f"{hits}; seed {format_cents(odds.seed_cents)}"),
        *_histogram(110, "Meter at a 100% hit", dollars, _dollars),
        *_histogram(390, "Days from hit to hit", days, _days),
        *_course(670, odds, days[first][:COURSE_HITS].tolist(), dollars[first][:COURSE_HITS].tolist()),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _dollars(amount: float) -> str:
    return f"${amount:,.0f}"


def _days(days: float) -> str:
    return f"{days:,.1f}" if days < 100 else f"{days:,.0f}"


def _text(x: float, y: float, words: str, size: int = 14, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{words}</text>'


def _line(start: tuple[float, float], end: tuple[float, float], ink: str, width: float = 1.0, dashes: str = "") -> str:
    ends = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    return f'<line {ends} stroke="{ink}" stroke-width="{width}" stroke-dasharray="{dashes or "none"}"/>'


def _histogram(top: int, heading: str, found: NDArray[np.float64], word: Callable[[float], str]) -> list[str]:
    """Bars up to the 99% point, the rest in the last one; mean and median as lines."""
    floor = top + _TALL
    parts = [_line((_LEFT, floor), (_RIGHT, floor), _INK)]
    if not found.size:
        return [*parts, _text(_LEFT, top - 12, heading, size=16), _text(_LEFT, floor - 70, "No 100% hit in any run.")]
    mean, median = float(found.mean()), float(np.median(found))
    parts.append(
        _text(_LEFT, top - 12, f"{heading}: mean {word(mean)} (line), median {word(median)} (dashes)", size=16)
    )
    low = float(found.min())
    # A single hit still has a bar of some width.
    across = _Axis(low, max(float(np.percentile(found, 99)), low + 1.0), _LEFT, _RIGHT)
    heights, edges = np.histogram(np.minimum(found, across.high), bins=BARS, range=(across.low, across.high))
    up = _Axis(0, float(heights.max()), floor, top)
    for height, (low, high) in zip(heights.tolist(), pairwise(edges.tolist()), strict=True):
        x, y = across.at(low), up.at(height)
        box = f'x="{x:.1f}" y="{y:.1f}" width="{across.at(high) - x - 1:.1f}" height="{floor - y:.1f}"'
        parts.append(f'<rect {box} fill="{_BAR}"/>')
    *ticks, last = across.ticks()
    parts += [_text(across.at(tick), floor + 20, word(tick), anchor="middle") for tick in ticks]
    parts.append(_text(_RIGHT + 20, floor + 20, f"{word(last)} and more", anchor="end"))
    parts += [_text(_LEFT - 8, up.at(tick) + 5, f"{tick / found.size:.1%}", anchor="end") for tick in up.ticks()[::2]]
    for number, dashes in ((mean, ""), (median, "6 4")):
        x = across.at(min(max(number, across.low), across.high))
        parts.append(_line((x, top), (x, floor), _MARK, 2.5, dashes))
    return parts


def _course(top: int, odds: MeterOdds, days: Sequence[float], dollars: Sequence[float]) -> list[str]:
    """The first run's climbs and resets; straight from seed to hit, so smaller shares taken between are not drawn."""
    floor = top + _TALL
    heading = f"The first run: its first {len(days)} hits (awards of a smaller share not drawn)"
    parts = [_text(_LEFT, top - 12, heading, size=16), _line((_LEFT, floor), (_RIGHT, floor), _INK)]
    if not days:
        return [*parts, _text(_LEFT, floor - 70, "No 100% hit in the first run.")]
    at = list(accumulate(days))
    across, up = _Axis(0, at[-1], _LEFT, _RIGHT), _Axis(0, max(dollars), floor, top)
    seed = up.at(min(odds.seed_cents / 100, max(dollars)))
    corners = [(across.at(0), seed)]
    for day, amount in zip(at, dollars, strict=True):
        corners += [(across.at(day), up.at(amount)), (across.at(day), seed)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    parts.append(f'<polyline points="{points}" fill="none" stroke="{_LINE}" stroke-width="1.5"/>')
    parts += [_text(_LEFT - 8, up.at(tick) + 5, _dollars(tick), anchor="end") for tick in up.ticks()[::2]]
    parts += [_text(across.at(day), floor + 20, f"day {day:,.0f}", anchor="middle") for day in across.ticks()]
    return parts
