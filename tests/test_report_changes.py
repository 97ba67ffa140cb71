"""Who changed what: configurations with people and approval; hands verified against the cards (R-62, R-84)."""

from copy import deepcopy
from pathlib import Path
from typing import Any

from desk_house import ANNA, BEN, DORA, EVE, Desk
from report_house import column, kept, made, table

from controller.reports.report import Report

DAY = "2026-12-01"
TOP = "7-card-straight-flush"
APPROVAL = {"authority": "the Board", "approval": "2026-117", "approved": "2026-11-30"}


def of(path: Path, name: str, desk: Desk) -> Report:
    """A report of the day of a desk."""
    return made(kept(path / "ledger.db", desk), name, DAY)[0]


def activated(desk: Desk, table_key: str, value: object) -> int:
    """A key of table PG-01 is proposed by eve and activated by dora; the entry of the activation."""
    document: Any = deepcopy(dict(desk.plan.document))
    document["table"] = [{**one, table_key: value} if one["id"] == "PG-01" else one for one in document["table"]]
    name = desk.act("config-proposed", EVE, document=document, reason="as agreed").told["hash"]
    return desk.act("config-activated", DORA, hash=name, **APPROVAL).entry


def test_a_changed_key_names_who_proposed_and_activated_it_and_the_approval(tmp_path: Path) -> None:
    desk = Desk()
    entry = activated(desk, "sign_from", "$500.00")
    found = table(of(tmp_path, "changes", desk), "Configuration").rows
    assert [row[2:] for row in found] == [
        ("the first configuration", "", f"{len_of(found)} keys", "the beginning of the ledger", ""),
        ("table PG-01 sign_from", found[1][3], "$500.00",
         "proposed by eve (technician); activated by dora (accounting)",
         f"the Board, 2026-117, 2026-11-30 (entry {entry})")]


def len_of(rows: Any) -> str:
    """The number of keys that the first configuration is told to have."""
    return str(rows[0][4]).removesuffix(" keys")


def test_keys_are_named_in_the_floors_words(tmp_path: Path) -> None:
    desk = Desk()
    activated(desk, "tray_limit", "$500.00")
    keys = column(table(of(tmp_path, "changes", desk), "Configuration"), "Key")
    assert keys == ["the first configuration", "table PG-01 paid by the dealer up to"]


def test_keys_that_waited_for_a_reset_name_the_activation_that_brought_them(tmp_path: Path) -> None:
    desk = Desk()
    document: Any = deepcopy(dict(desk.plan.document))
    document["meter"] = [{**one, "limit": "$90,000.00"} if one["id"] == "pg-link" else one
                         for one in document["meter"]]
    name = desk.act("config-proposed", EVE, document=document, reason="as agreed").told["hash"]
    desk.act("config-activated", DORA, hash=name, **APPROVAL)
    desk.lock(1, 3)
    desk.hit(1, 3, TOP)
    desk.close(1)
    by = column(table(of(tmp_path, "changes", desk), "Configuration"), "By")
    assert by[-1] == ("proposed by eve (technician); activated by dora (accounting); in force with the reset that it "
                      "waited for")


def test_an_award_verified_against_the_cards_is_an_override_of_both_who_signed(tmp_path: Path) -> None:
    """D24: As Kd Th 2c 5d 7h 9s are no straight flush."""
    desk = Desk()
    desk.lock(1, 3)
    desk.hit(1, 3, TOP)
    desk.close(1)
    desk.act("award-verified", ANNA, None, BEN, game=1, seat=3,  # type: ignore[arg-type]
             cards="As Kd Th 2c 5d 7h 9s", reason="the camera shows the hand")
    report = of(tmp_path, "corrections", desk)
    each = table(report, "In their order")
    (details,), (reason,) = column(each, "Details"), column(each, "Reason")
    assert [row[2:5] for row in table(report, "By table").rows] == [
        ("anna", "verified against the cards", 1), ("ben", "verified against the cards", 1)]
    assert str(details).endswith("the cards were As Kd Th 2c 5d 7h 9s")
    assert (str(details).startswith(f"seat 3 {TOP} of $15,005."), reason) == (True, "the camera shows the hand")


def test_an_award_verified_by_cards_that_agree_is_no_override(tmp_path: Path) -> None:
    desk = Desk()
    desk.lock(1, 3)
    desk.hit(1, 3, TOP)
    desk.close(1)
    desk.act("award-verified", ANNA, game=1, seat=3, cards="8s 9s Ts Js Qs Ks As")
    assert table(of(tmp_path, "corrections", desk), "In their order").rows == ()
