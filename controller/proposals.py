"""What is proposed to come into force, and what waits for a reset, as programs are told it. Pure (D2, D5, D28)."""

from collections.abc import Mapping
from typing import Any

from controller.config_build import build
from controller.config_change import differences
from controller.config_times import preview
from controller.people import person_from
from controller.plan import FloorPlan

Rows = Mapping[str, Mapping[str, Any]]


def told_configuration(
    plan: FloorPlan, proposed: Rows, kept: Rows, reasons: Mapping[int, str], at: int
) -> dict[str, Any]:
    """The hash in force, every proposal with each difference and its times in words, and what waits.

    ``proposed`` and ``kept``: the rows ``config-proposed`` and ``config`` of the first book; ``reasons``: by the number
    of the proposal's entry. ``at`` and every time told in UTC microseconds.
    """
    waiting = kept.get("waiting")
    return {
        "hash": plan.hash,
        "proposals": [_proposal(name, row, plan, reasons.get(row["number"], ""), at) for name, row in proposed.items()],
        "waiting": None if waiting is None else {
            "meters": list(waiting["meters"]), "differences": differences(plan.document, waiting["document"])},
    }


def _proposal(name: str, row: Mapping[str, Any], plan: FloorPlan, reason: str, at: int) -> dict[str, Any]:
    person = person_from(row["by"])
    return {
        "hash": name, "by": person.id, "department": person.department, "at": row["at"], "reason": reason,
        "of": row["of"], "outdated": row["of"] != plan.hash, "waits": list(row["waits"]),
        "differences": differences(plan.document, row["document"]),
        "times": preview(build(row["document"]), at, plan)}
