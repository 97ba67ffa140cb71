"""What a sign shows: standards R-22 to R-32, peers D10 to D12, D15, D22, D23, cases MO-03, DI-01, DI-03, WE-01."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from demo_snapshot import (
    NOW,
    SECOND,
    award,
    device,
    floor_plan,
    meter_view,
    quiet_snapshot,
    sign_plan,
    small_award,
)

from controller.money import share_of_meter
from controller.plan import Environment, Overflow, frozen
from controller.sign import Shown, alpha_pages, alpha_texts, meter_topics, printable, show, to_json
from controller.snapshot import AwardView, LineState, Snapshot

LINK_SIGN = sign_plan()
BOTH = sign_plan("both", None, ("pg-link", "pg-solo"))


def standing_at(cents: int, meter: str = "pg-link") -> Snapshot:
    """The quiet floor with one meter at ``cents``."""
    quiet = quiet_snapshot()
    return replace(quiet, meters=frozen({**quiet.meters, meter: meter_view(quiet.plan, meter, cents)}))


def with_awards(*awards: AwardView) -> Snapshot:
    """The quiet floor with these awards."""
    return replace(quiet_snapshot(), awards=awards)


def amount(shown: Shown) -> str:
    """The amount of the sign's first meter."""
    return shown.meters[0].amount


def with_table_unit(**changes: object) -> Snapshot:
    """The quiet floor with the table unit of PG-01 changed."""
    quiet = quiet_snapshot()
    return replace(quiet, devices=frozen({**quiet.devices, "hub-01": device(quiet.plan, "PG-01", **changes)}))


def test_the_durable_amount_is_shown_in_dollars_and_cents_r_23() -> None:
    assert amount(show(LINK_SIGN, standing_at(1_234_567), NOW, None)) == "$12,345.67"


def test_a_fraction_of_a_cent_is_never_rounded_up_onto_the_sign_r_25() -> None:
    quiet = quiet_snapshot()
    view = replace(quiet.meters["pg-link"], display_microcents=1_000_028_999_999)
    shown = show(LINK_SIGN, replace(quiet, meters=frozen({**quiet.meters, "pg-link": view})), NOW, None)
    assert amount(shown) == "$10,000.28"


@pytest.mark.parametrize(
    ("cents", "text"),
    [
        (2**31 - 1, "$21,474,836.47"),
        (2**31, "$21,474,836.48"),
        (2**32 - 1, "$42,949,672.95"),
        (2**32, "$42,949,672.96"),
    ],
)
def test_amounts_at_the_edges_of_32_bits_are_exact_everywhere_mo_03(cents: int, text: str) -> None:
    shown = show(LINK_SIGN, standing_at(cents), NOW, None)
    topic = json.loads(meter_topics(shown)["pg-link"])
    written = text.replace("$", "").replace(",", "")
    assert (amount(shown), alpha_texts(shown)[0][0], topic["amount"]) == (text, text, written)


def test_above_its_digits_a_sign_shows_its_maximum_r_26() -> None:
    shown = show(replace(LINK_SIGN, digits=9), standing_at(1_000_000_000), NOW, None)
    assert (amount(shown), shown.meters[0].capped) == ("$9,999,999.99", True)


def test_an_amount_of_exactly_its_digits_is_not_capped_r_26() -> None:
    shown = show(replace(LINK_SIGN, digits=9), standing_at(999_999_999), NOW, None)
    assert (amount(shown), shown.meters[0].capped) == ("$9,999,999.99", False)


def test_a_rise_runs_up_and_never_passes_the_durable_amount_r_25() -> None:
    shown = show(LINK_SIGN, standing_at(1_000_000), NOW, None)
    risen, seen = replace(standing_at(1_000_100), at=NOW), []
    for step in range(12):
        shown = show(LINK_SIGN, risen, NOW + step * SECOND // 10, shown)
        seen.append(shown.meters[0].amount_cents)
    assert seen == [1_000_000 + min(step, 10) * 10 for step in range(12)]


def test_a_paced_sign_is_never_behind_the_amount_of_two_seconds_ago_r_24() -> None:
    shown, amounts = None, []
    for step in range(60):
        cents = 1_000_000 + step * step
        amounts.append(cents)
        now = NOW + step * SECOND // 5
        shown = show(LINK_SIGN, replace(standing_at(cents), at=now), now, shown)
        assert amounts[max(0, step - 10)] <= shown.meters[0].amount_cents <= cents


def test_a_fall_jumps_r_24() -> None:
    before = show(LINK_SIGN, standing_at(5_000_000), NOW, None)
    assert amount(show(LINK_SIGN, standing_at(1_000_000), NOW + 1, before)) == "$10,000.00"


def test_pacing_never_hides_the_value_in_play_after_a_win_r_25() -> None:
    before = show(LINK_SIGN, standing_at(1_000_000), NOW, None)
    won = replace(standing_at(1_000_500), awards=(award("PG-02", 1, 2, NOW),))
    assert amount(show(LINK_SIGN, won, NOW + 1, before)) == "$10,005.00"


def test_a_snapshot_older_than_three_seconds_is_not_live_di_01() -> None:
    quiet = quiet_snapshot()
    live = [show(LINK_SIGN, quiet, NOW + late, None).live for late in (3 * SECOND, 3 * SECOND + 1)]
    assert live == [True, False]


def test_a_snapshot_from_the_future_is_not_live_di_01() -> None:
    assert not show(LINK_SIGN, quiet_snapshot(), NOW - 3_600 * SECOND, None).live


def test_a_stopped_book_is_not_live_r_31() -> None:
    shown = show(LINK_SIGN, replace(quiet_snapshot(), stopped="postings do not sum to zero"), NOW, None)
    assert (shown.live, shown.why) == (False, "The jackpot is stopped")


def test_a_row_pays_its_fixed_part_and_its_share_now_d_22() -> None:
    row = show(LINK_SIGN, standing_at(1_000_020), NOW, None).rows[1]
    assert (row.label, row.wager, row.pays, row.total, row.envy) == (
        "Royal flush + royal match", "$5.00", "$5,000.00 + $2,000.05", "$7,000.05", "$750.00",
    )  # fmt: skip


def test_every_row_shows_what_the_meter_would_pay_d_15() -> None:
    snapshot = quiet_snapshot()
    view, paytable = snapshot.meters["pg-solo"], snapshot.plan.meters["pg-solo"].paytable
    due = [
        prize.fixed_cents
        + sum(share_of_meter(view.display_microcents, ppm, view.plan.rounding) for _, ppm in prize.shares)
        for prize in paytable.prizes
    ]
    shown = show(sign_plan("solo", "PG-03", ("pg-solo",)), snapshot, NOW, None)
    assert [int(row.total.replace("$", "").replace(",", "").replace(".", "")) for row in shown.rows] == due


def test_a_sign_without_a_table_shows_the_rows_of_all_its_meters_r_32() -> None:
    shown = show(BOTH, quiet_snapshot(), NOW, None)
    assert [row.wager for row in shown.rows] == ["$5.00"] * 7 + ["$1.00"] * 6


def test_a_reserve_is_said_on_the_sign_r_28() -> None:
    assert show(LINK_SIGN, quiet_snapshot(), NOW, None).lines == ("1% of each wager funds the next jackpot",)


@pytest.mark.parametrize(
    ("overflow", "words"),
    [
        (Overflow.NEXT_METER, "What wagers add above the limit funds the next jackpot"),
        (Overflow.KEEP, "What wagers add above the limit is set aside, not added to the jackpot"),
    ],
)
def test_what_goes_above_a_limit_is_said_on_the_sign_r_28(overflow: Overflow, words: str) -> None:
    quiet = quiet_snapshot()
    solo = replace(quiet.plan.meters["pg-solo"], overflow=overflow)
    plan = replace(quiet.plan, meters=frozen({**quiet.plan.meters, "pg-solo": solo}))
    assert show(sign_plan("solo", "PG-03", ("pg-solo",)), replace(quiet, plan=plan), NOW, None).lines == (words,)


def test_limits_and_linked_tables_stand_on_the_sign_r_29() -> None:
    shown = show(BOTH, quiet_snapshot(), NOW, None)
    assert [(meter.limit, meter.tables) for meter in shown.meters] == [
        ("No limit", ("PG-01", "PG-02")),
        ("Limit $250,000.00", ("PG-03",)),
    ]


def test_an_open_table_says_so_r_22() -> None:
    table = show(LINK_SIGN, quiet_snapshot(), NOW, None).table
    assert table is not None and (table.state, table.why) == ("OPEN", "")


def test_a_table_that_may_not_play_says_progressive_off_and_why_r_30() -> None:
    lost = with_table_unit(playable=False, state=LineState.OFFLINE, reason="the table unit is not heard")
    table = show(LINK_SIGN, lost, NOW, None).table
    assert table is not None and (table.state, table.why) == ("PROGRESSIVE OFF", "the table unit is not heard")


def test_a_table_with_a_loss_not_accepted_says_progressive_off_r_30() -> None:
    quiet = quiet_snapshot()
    lost = replace(quiet.tables["PG-01"], loss="messages 4 to 6 are missing")
    table = show(LINK_SIGN, replace(quiet, tables=frozen({**quiet.tables, "PG-01": lost})), NOW, None).table
    assert table is not None and (table.state, table.why) == ("PROGRESSIVE OFF", "messages 4 to 6 are missing")


def test_a_table_whose_unit_was_never_heard_is_closed_r_30() -> None:
    table = show(LINK_SIGN, replace(quiet_snapshot(), devices=frozen({})), NOW, None).table
    assert table is not None and table.state == "CLOSED"


def test_a_win_names_table_award_and_new_value_r_27() -> None:
    win = show(LINK_SIGN, with_awards(award("PG-02", 229, 2, NOW - SECOND)), NOW, None).win
    assert win is not None
    assert (win.status, win.table, win.seat, win.award, win.new_value) == (
        "PENDING", "A-1002", 2, "$7,401.18", "$12,005.88",
    )  # fmt: skip


@pytest.mark.parametrize(("age", "stands"), [(59_999_999, True), (60_000_000, False)])
def test_an_award_stands_for_sixty_seconds_r_27(age: int, stands: bool) -> None:
    snapshot = replace(with_awards(award("PG-01", 1, 2, NOW)), at=NOW + age)
    assert (show(LINK_SIGN, snapshot, NOW + age, None).win is not None) is stands


def test_the_newest_award_stands_first_and_the_largest_of_a_moment_r_27() -> None:
    early, large = award("PG-01", 1, 1, NOW - 2 * SECOND), award("PG-01", 2, 2, NOW - SECOND)
    small = replace(large, seat=3, meters=(("pg-link", 1),))
    win = show(LINK_SIGN, with_awards(early, small, large), NOW, None).win
    assert win is not None and (win.seat, win.others) == (2, 2)


def test_an_award_under_sign_from_never_stands_on_a_sign() -> None:
    """The table's ``sign_from`` is $500.00; the returned wager is no part of the prize."""
    four_of_a_kind = small_award("PG-01", 1, 4, NOW)
    just_under = replace(four_of_a_kind, fixed_cents=49_999)
    assert show(LINK_SIGN, with_awards(four_of_a_kind, just_under), NOW, None).win is None


def test_an_award_without_a_share_stands_from_sign_from_on_at_its_own_table() -> None:
    fixed = replace(small_award("PG-01", 1, 4, NOW), fixed_cents=50_000)
    wins = [show(sign, with_awards(fixed), NOW, None).win for sign in (LINK_SIGN, BOTH)]
    assert [win.award if win else None for win in wins] == ["$500.00", None]


def test_an_award_of_another_link_does_not_stand() -> None:
    other = replace(award("PG-03", 1, 1, NOW), meters=(("pg-solo", 900_000),))
    assert show(LINK_SIGN, with_awards(other), NOW, None).win is None


def test_an_award_of_a_table_that_left_the_floor_does_not_stand() -> None:
    assert show(LINK_SIGN, with_awards(award("PG-09", 1, 1, NOW)), NOW, None).win is None


def test_the_win_says_only_what_the_award_is_due_d_10() -> None:
    due = award("PG-01", 1, 1, NOW)
    win = show(LINK_SIGN, with_awards(due), NOW, None).win
    assert win is not None and win.award_cents == due.total_cents - due.returned_cents


def test_a_stopped_book_shows_no_win_d_10() -> None:
    stopped = replace(with_awards(award("PG-01", 1, 1, NOW)), stopped="chain broken")
    assert show(LINK_SIGN, stopped, NOW, None).win is None


def test_names_reach_the_sign_as_printable_ascii_only_we_01() -> None:
    hostile = '<b onload="x">\x1b\x04Jack\u202ePót １ €\n' + "z" * 200
    plan = floor_plan(name=hostile)
    link = replace(plan.meters["pg-link"], name=hostile)
    plan = replace(plan, meters=frozen({**plan.meters, "pg-link": link}))
    quiet = quiet_snapshot()
    view = replace(quiet.meters["pg-link"], plan=link)
    snapshot = replace(quiet, plan=plan, meters=frozen({**quiet.meters, "pg-link": view}))
    shown = show(LINK_SIGN, snapshot, NOW, None)
    texts = [shown.title, shown.meters[0].name, alpha_pages(LINK_SIGN, plan)[0][0]]
    assert all(" " <= mark <= "~" for text in texts for mark in text)


def test_a_text_keeps_what_a_sign_can_show_we_01() -> None:
    assert printable("Café １ €\x07") == "Cafe 1 ??"


@pytest.mark.parametrize(("environment", "banner"), [(Environment.PRODUCTION, ""), (Environment.TRAINING, "TRAINING")])
def test_the_environment_stands_on_every_sign_unless_production_d_8(environment: Environment, banner: str) -> None:
    snapshot = quiet_snapshot(environment)
    shown = show(LINK_SIGN, snapshot, NOW, None)
    words = alpha_pages(LINK_SIGN, snapshot.plan)[0][0]
    assert (shown.environment, words) == (banner, f"{banner} Face Up Pai Gow Link ".lstrip())


def test_the_topic_holds_the_amount_its_moment_and_its_life_di_01() -> None:
    shown = show(LINK_SIGN, quiet_snapshot(), NOW, None)
    assert meter_topics(shown) == {
        "pg-link": b'{"amount":"12005.88","at":"2027-01-01T20:32:11.000Z","valid_s":3}'
    }


def test_a_topic_of_a_stopped_book_has_no_life_left_di_01() -> None:
    shown = show(LINK_SIGN, replace(quiet_snapshot(), stopped="chain broken"), NOW, None)
    assert json.loads(meter_topics(shown)["pg-link"])["valid_s"] == 0


def test_the_topic_of_a_won_meter_tells_the_pending_award_r_27() -> None:
    topics = meter_topics(show(BOTH, with_awards(award("PG-02", 229, 2, NOW)), NOW, None))
    told = {meter: json.loads(payload).get("pending") for meter, payload in topics.items()}
    assert told == {
        "pg-link": {
            "table": "A-1002", "seat": 2, "label": "Royal flush + royal match", "award": "7401.18",
            "at": "2027-01-01T20:32:11.000Z",
        },
        "pg-solo": None,
    }  # fmt: skip


def test_the_page_gets_everything_that_the_sign_shows() -> None:
    made = to_json(show(LINK_SIGN, with_awards(award("PG-02", 229, 2, NOW)), NOW, None))
    assert (made["meters"][0]["amount"], made["win"]["at"], made["table"]["state"], made["valid_s"]) == (
        "$12,005.88", "2027-01-01T20:32:11.000Z", "OPEN", 3,
    )  # fmt: skip


def test_the_page_form_is_plain_json() -> None:
    made = to_json(show(BOTH, quiet_snapshot(), NOW, None))
    assert json.loads(json.dumps(made))["rows"][0]["label"] == "7 card straight flush"


def test_an_led_alert_runs_on_with_the_new_value_r_27() -> None:
    shown = show(BOTH, with_awards(award("PG-02", 229, 2, NOW)), NOW, None)
    assert alpha_texts(shown) == (
        ("$12,005.88", "$86,409.13"),
        (("PENDING", None), ("TABLE A-1002", None), ("SEAT 2 $7,401.18", None), ("NOW ", 0)),
    )


def test_an_led_sign_that_is_not_live_hides_its_amounts_di_01() -> None:
    _, alert = alpha_texts(show(LINK_SIGN, quiet_snapshot(), NOW + 4 * SECOND, None))
    assert alert == (("NOT LIVE", None),)


def test_an_led_sign_alternates_progressive_off_and_the_amount_r_31() -> None:
    _, alert = alpha_texts(show(LINK_SIGN, with_table_unit(playable=False, reason="no pulse"), NOW, None))
    assert alert == (("PROGRESSIVE OFF", None), ("JACKPOT ", 0))


def test_an_led_sign_with_nothing_to_say_has_no_alert() -> None:
    assert alpha_texts(show(LINK_SIGN, quiet_snapshot(), NOW, None))[1] == ()


_SHOW_ALL = """
import json, locale
try:
    locale.setlocale(locale.LC_ALL, "")
except locale.Error:
    pass
from demo_snapshot import NOW, busy_snapshot, sign_plan
from controller.sign import alpha_texts, meter_topics, show, to_json
shown = show(sign_plan(), busy_snapshot(), NOW, None)
print(json.dumps([to_json(shown), alpha_texts(shown), meter_topics(shown)["pg-link"].decode()]))
"""


def test_the_locale_changes_no_sign_di_03() -> None:
    here = Path(__file__).parent
    outputs = set()
    for name in ("C", "de_DE.UTF-8", "hi_IN.UTF-8", "ar_EG.UTF-8"):
        env = {**os.environ, "LC_ALL": name, "LANG": name, "PYTHONPATH": f"{here}{os.pathsep}{here.parent}"}
        outputs.add(subprocess.run([sys.executable, "-c", _SHOW_ALL], env=env, capture_output=True, check=True).stdout)
    assert len(outputs) == 1


# ---------------------------------------------------------------------- what cannot be won


@pytest.mark.parametrize(("cents", "live"), [(24_999_999, True), (25_000_000, True), (25_000_001, False)])
def test_d23_no_sign_shows_an_amount_above_the_limit(cents: int, live: bool) -> None:
    """D11, D23: the limit of pg-solo is $250,000.00. The sign goes dark and says why, whatever the ledger held."""
    shown = show(BOTH, standing_at(cents, "pg-solo"), NOW, None)
    assert (shown.live, shown.why) == (live, "" if live else "An amount is above its limit")


def test_d23_a_sign_of_other_meters_goes_on() -> None:
    assert show(LINK_SIGN, standing_at(25_000_001, "pg-solo"), NOW, None).live
