"""What a slip says: it adds up again, it names its state, and its code finds a mistyped sign (R-57 to R-61, MO-10)."""

import re
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.meter import Amounts, settle
from controller.money import PPM, Rounding
from controller.plan import Environment, MeterPlan
from controller.slip import (
    TO_WRITE,
    Block,
    EnvyPaid,
    LitSeat,
    Look,
    MeterWorking,
    Override,
    Paper,
    Slip,
    SlipState,
    Step,
    Tie,
    banners,
    differences,
    lines,
    printable,
    read_code,
    slip_code,
)
from tests.floors import CHOICES, named_floor, plan_of
from tests.slip_house import ANNA, BEN, CARA, LINK, WON, slip

HASHES = st.binary(min_size=32, max_size=32)
ENTRIES = st.integers(1, 10**16 - 1)


def block(made: Slip, title: str) -> Block:
    """The block whose title begins so."""
    return next(block for block in lines(made) if block.title.startswith(title))


def dollars(text: str) -> Fraction:
    """An amount as printed, read without any of the product's code."""
    sign = -1 if text.startswith("-") else 1
    return sign * Fraction(text.lstrip("-$").replace(",", ""))


def money(made: Slip, title: str) -> dict[str, Fraction]:
    """The amounts of a block by their labels."""
    return {row.label: dollars(row.text) for row in block(made, title).rows if row.look in (Look.MONEY, Look.TOTAL)}


def words(made: Slip) -> str:
    """Everything that the slip says, in one text."""
    return "\n".join(f"{block.title}\n" + "\n".join(f"{row.label}: {row.text}" for row in block.rows)
                     for block in lines(made))


def test_the_award_adds_up_to_the_cent() -> None:
    """Meter share, fixed part and returned wager make the total; envy stays out of it (MO-10)."""
    award = money(WON, "Award")
    assert award.pop("PAID") == sum(award.values()) == Fraction("7005.06")


def test_the_meter_adds_up_from_what_is_printed() -> None:
    """Meter before less the award is meter after, read from the paper alone (R-57, R-60)."""
    working = money(WON, "Face Up")
    assert working["Meter before"] - working["From the meter"] == working["Meter after"]


def test_the_share_is_printed_before_it_is_rounded() -> None:
    """20% of $10,000.28 has a tenth of a cent more than can be paid, and the slip shows it (D30)."""
    assert money(WON, "Face Up")["20% of it"] == Fraction("10000.28") / 5 == Fraction("2000.056")


@pytest.mark.parametrize(
    ("rounding", "said"),
    [(Rounding.UP, "up to the whole cent, in the player's favour"),
     (Rounding.DOWN, "down to the whole cent; the fraction stays on the meter")],
)
def test_the_rounding_mode_is_in_words(rounding: Rounding, said: str) -> None:
    """D30: a dispute over rounding begins with nobody having been told."""
    assert ("Rounding", said) in [row[:2] for row in block(slip(workings=(LINK._replace(rounding=rounding),)),
                                                          "Face Up").rows]


def test_envy_is_listed_by_seat_and_summed() -> None:
    """Two seats of $750.00 (MO-10)."""
    assert money(WON, "Envy") == {
        "Seat 1, paid in chips": 750, "Seat 4": 750, "Envy in all, not in the award": 1500}


def test_the_record_holds_all_that_a_win_record_must() -> None:
    """R-57: game, table, position, hand, level, wager, before, amount, after, time, player, who verified, who paid."""
    must = ("Game: 41", "Table: PG-01", "Seat: 2", "Royal flush + royal match", "Face Up Pai Gow Link (pg-link)",
            "Wager: $5.00", "Meter before: $10,000.28", "PAID: $7,005.06", "Meter after: $8,000.22",
            "2026-11-01 21:10:44 EST", "José Núñez", "Seed of the meter: $10,000.00",
            "Next-jackpot money before: $0.35",
            "Verified, 2026-11-01 21:14:05 EST: anna (supervisor, table-games)",
            "Paid, 2026-11-01 21:19:58 EST: anna (supervisor, table-games)")
    assert [part for part in must if part not in words(WON)] == []


def test_the_lit_seats_of_the_game_are_the_evidence() -> None:
    """Seats by spot and wager, in the order of seats."""
    lit = (LitSeat(4, "progressive", 500), LitSeat(2, "progressive", 500), LitSeat(2, "fortune", 100))
    assert [row[:2] for row in block(slip(lit=lit), "Evidence: lit at lock-out of game 41").rows] == [
        ("progressive, $5.00", "seat 2, 4"), ("fortune, $1.00", "seat 2")]


def test_a_winner_whose_sensor_was_dark_is_named() -> None:
    """The one thing that a reader of the evidence looks for."""
    assert "Seat 2, progressive, was NOT lit" in words(slip(lit=(LitSeat(1, "progressive", 500),)))


@pytest.mark.parametrize(
    ("environment", "said"),
    [(Environment.PRODUCTION, []), (Environment.TRAINING, ["TRAINING: NO REAL MONEY"]),
     (Environment.TEST, ["TEST: NO REAL MONEY"])],
)
def test_only_a_production_slip_may_look_like_money(environment: Environment, said: list[str]) -> None:
    """D8, D9."""
    assert banners(slip(environment=environment)) == said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"state": SlipState.REFUSED}, "REFUSED"),
        ({"state": SlipState.WITHDRAWN}, "WITHDRAWN"),
        ({"state": SlipState.PAID_IN_ERROR}, "PAID IN ERROR"),
        ({"reprint": 2}, "REPRINT 2"),
        ({"replaced_by": 43}, "VOID: REPLACED BY SLIP demo-000043"),
        ({"due_cents": 700_507}, "DOES NOT ADD UP: DO NOT PAY, CALL ACCOUNTING"),
    ],
)
def test_what_is_not_a_plain_slip_says_so_first(changes: dict[str, object], said: str) -> None:
    """Voids are kept and known for what they are (R-58)."""
    assert banners(slip(environment=Environment.PRODUCTION, **changes)) == [said]


def test_a_refused_slip_keeps_its_working_and_shows_nothing_to_pay() -> None:
    """MO-10: the dispute record of a voided win is as complete as that of a paid one."""
    refused = slip(state=SlipState.REFUSED, reason="two cards were exposed")
    said = words(refused)
    assert ("REFUSED, NOT TO PAY: $7,005.06" in said, "Reason: two cards were exposed" in said,
            "Meter before: $10,000.28" in said, "Player:" in _signatures(refused)) == (True, True, True, False)


def _signatures(made: Slip) -> str:
    return "\n".join(row.label for row in block(made, "Signatures").rows)


def test_a_correction_names_the_slip_it_replaces() -> None:
    """R-58: one series, nothing taken out of it."""
    assert "Replaces slip: demo-000041" in words(slip(replaces=41))


def test_an_override_shows_both_amounts_the_reason_and_the_third_person() -> None:
    """R-59."""
    payment = block(slip(override=Override(700_000, "chips short", CARA)), "Payment")
    assert [row[:2] for row in payment.rows] == [
        ("Paid in", "chips"), ("OVERRIDE", "the amount handed over differs"), ("Due", "$7,005.06"),
        ("Handed over", "$7,000.00"), ("Difference", "-$5.06"), ("Override reason", "chips short"),
        ("Decided by", "cara (accounting, accounting)")]


def test_everybody_who_had_a_part_has_a_line_to_sign() -> None:
    """The third person of an override too; the total stands with the signatures, wherever the page breaks."""
    made = slip(override=Override(700_000, "chips short", CARA))
    assert [block(made, "Signatures").title, *_signatures(made).splitlines()] == [
        "Signatures: PAID $7,000.00", "Verified: anna (supervisor, table-games)",
        "Released: ben (shift-manager, table-games)", "Paid: anna (supervisor, table-games)",
        "Override: cara (accounting, accounting)", "Player: José Núñez"]


def test_before_it_is_paid_the_missing_signatures_are_blank() -> None:
    """A slip printed to be carried to the table."""
    made = slip(state=SlipState.TO_PAY, player="", steps=(Step("Verified", BEN, "2026-11-01 21:14:05 EST"),))
    assert _signatures(made).splitlines() == ["Verified: ben (shift-manager, table-games)", "Paid by", "Player"]


def test_the_checklist_is_the_operators_own_and_can_be_filled_in_by_hand() -> None:
    """R-61, D26: identity, form, cards to the camera; an empty answer is a line to write on."""
    made = slip(paper=Paper(120_000, (("Identity checked", "yes"), ("Form number", ""))))
    assert block(made, "Checklist: $1,200.00 and more").rows == (
        ("Identity checked", "yes", Look.TEXT), ("Form number", TO_WRITE, Look.TEXT))


CHANGED: dict[str, dict[str, object]] = {
    "due_cents": {"due_cents": 700_507},
    "fixed_cents": {"fixed_cents": 500_001},
    "returned_cents": {"returned_cents": 0},
    "award": {"workings": (LINK._replace(award_cents=200_005),)},
    "before": {"workings": (LINK._replace(before=LINK.before + 1),)},
    "after": {"workings": (LINK._replace(after=LINK.after - 1),)},
    "reserve": {"workings": (LINK._replace(reserve_after=0),)},
    "overflow": {"workings": (LINK._replace(overflow_after=1),)},
    "house": {"workings": (LINK._replace(house=1),)},
    "rounding": {"workings": (LINK._replace(rounding=Rounding.DOWN),)},
    "share": {"workings": (LINK._replace(share_ppm=200_001),)},
    "missing part": {"workings": ()},
}


@pytest.mark.parametrize("changed", CHANGED)
def test_a_slip_that_does_not_add_up_says_where(changed: str) -> None:
    """Every component counts: a record that lacks one is the wrong that MO-10 names."""
    made = slip(**CHANGED[changed])
    assert [row.text for block in lines(made) if block.title == "Does not add up" for row in block.rows] == (
        differences(made)) != []


@st.composite
def settled(draw: st.DrawFn) -> tuple[MeterPlan, Amounts, int]:
    """A meter of paytable 4 under any policies, as it stands, and a share of it."""
    policies = {key: draw(st.sampled_from(choices)) for key, choices in CHOICES.items()}
    policies["limit"] = draw(st.sampled_from(("none", "$12,000.00")))
    plan = plan_of(named_floor("progressive-4", policies)).meters["main"]
    microcents = st.integers(0, 3_000_000 * 1_000_000)
    return plan, Amounts(draw(microcents), draw(microcents), draw(microcents)), draw(st.integers(1, PPM))


def _paid_by(plan: MeterPlan, before: Amounts, share: int) -> Slip:
    after = settle(plan, before, [share])
    working = MeterWorking("main", "Main", plan.seed_cents, share, plan.rounding, before.display, after.awards[0],
                           after.after.display, before.reserve, after.after.reserve, before.overflow,
                           after.after.overflow, house=after.house)
    return slip(workings=(working,), due_cents=after.awards[0] + WON.fixed_cents + WON.returned_cents)


@given(settled(), st.booleans())
def test_whatever_the_engine_settles_adds_up_on_paper(case: tuple[MeterPlan, Amounts, int], whole: bool) -> None:
    """Partial shares and resets, with seed, reserve, overflow, limit and every policy."""
    plan, before, share = case
    assert differences(_paid_by(plan, before, PPM if whole else share)) == []


@given(settled(), st.booleans())
def test_the_printed_movements_lead_from_before_to_after(case: tuple[MeterPlan, Amounts, int], whole: bool) -> None:
    """A reader with a pencil needs nothing that is not on the paper (R-60)."""
    plan, before, share = case
    said = money(_paid_by(plan, before, PPM if whole else share), "Main")
    moved = sum(amount for label, amount in said.items() if label.startswith(("Put in", "From next", "From above")))
    assert said["Meter before"] - said["From the meter"] + moved == said["Meter after"]


@pytest.mark.parametrize(("award", "right"), [(334, True), (333, True), (335, False)])
def test_a_split_meter_gives_the_odd_cents_to_the_first(award: int, right: bool) -> None:
    """Three hands share $10.00: $3.34, $3.33, $3.33."""
    working = MeterWorking("m", "M", 0, PPM, Rounding.UP, 1_000_500_000, award, 500_000, 0, 0,
                           others_cents=1000 - award, shared_by=3)
    assert (differences(slip(workings=(working,), due_cents=award + 500_500)) == []) is right


def test_a_prize_without_a_share_needs_no_meter() -> None:
    """A fixed row of the paytable."""
    assert differences(slip(workings=(), due_cents=500_500)) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"number": 0},
        {"entry": 0},
        {"reprint": -1},
        {"hash": b"short"},
        {"site": "x" * 65},
        {"due_cents": -1},
        {"workings": (LINK._replace(before=-1),)},
        {"workings": (LINK._replace(share_ppm=PPM + 1),)},
        {"workings": (LINK._replace(shared_by=0),)},
        {"envy": (EnvyPaid(1, -1),)},
        {"envy": (EnvyPaid(1, 1),) * 65},
        {"player": "x" * 401},
        {"steps": (Step("x" * 401, ANNA, ""),)},
        {"paper": Paper(1, (("Net", "x" * 401),))},
        {"override": Override(-1, "", CARA)},
    ],
)
def test_what_no_slip_can_hold_is_refused(changes: dict[str, object]) -> None:
    """Bounds: a slip ends, and its amounts are amounts."""
    with pytest.raises(ValueError):
        slip(**changes)


@given(ENTRIES, HASHES)
def test_a_code_leads_back_to_its_entry(entry: int, entry_hash: bytes) -> None:
    """Typed in small letters, with blanks for dashes."""
    assert read_code(slip_code(entry, entry_hash).lower().replace("-", " ")).fits(entry, entry_hash)


@given(ENTRIES, HASHES, st.data())
def test_any_one_wrong_sign_of_a_code_is_noticed(entry: int, entry_hash: bytes, data: st.DataObject) -> None:
    """Every place, every other sign that it could hold."""
    code = slip_code(entry, entry_hash)
    place = data.draw(st.sampled_from([place for place, sign in enumerate(code) if sign != "-"]))
    wrong = data.draw(st.sampled_from(sorted(set("0123456789ABCDEF") - {code[place]})))
    with pytest.raises(ValueError):
        read_code(code[:place] + wrong + code[place + 1 :])


@given(ENTRIES, HASHES)
def test_any_two_swapped_signs_of_a_code_are_noticed(entry: int, entry_hash: bytes) -> None:
    """Neighbours or not."""
    code = slip_code(entry, entry_hash)
    places = [place for place, sign in enumerate(code) if sign != "-"]
    missed = []
    for one, other in combinations(places, 2):
        if code[one] != code[other]:
            signs = list(code)
            signs[one], signs[other] = signs[other], signs[one]
            try:
                missed.append(read_code("".join(signs)))
            except ValueError:
                continue
    assert missed == []


@pytest.mark.parametrize("typed", ["", "12", "12-3F40-4142-4344-4546", "x" * 10_000, "12-3F40-4142-4344-4546-26-1"])
def test_what_is_no_code_is_refused_with_the_form(typed: str) -> None:
    """The message shows what a code looks like."""
    with pytest.raises(ValueError, match="write it as printed"):
        read_code(typed)


def test_letters_that_look_like_digits_are_read_as_such() -> None:
    """No hash holds an O, an I or an L."""
    code = slip_code(10, bytes([0x10] * 32))
    assert read_code(code.replace("0", "o").replace("1", "l")) == Tie(10, "10" * 8)


def test_a_changed_entry_no_longer_fits_its_slip() -> None:
    """The hash is in the code."""
    assert not read_code(slip_code(12, WON.hash)).fits(12, bytes(32))


@given(st.text())
def test_any_text_becomes_plain_ascii(text: str) -> None:
    """No control sign, no command, no right-to-left trick (WE-01)."""
    assert re.fullmatch(r"[ -~]*", printable(text))


@given(st.text())
def test_any_text_becomes_what_a_core_font_holds(text: str) -> None:
    """ISO 8859-1 without controls and soft hyphens."""
    assert re.fullmatch("[ -~\u00a1-\u00ac\u00ae-\u00ff]*", printable(text, latin=True))


@pytest.mark.parametrize(
    ("text", "ascii_text", "latin"),
    [
        ("José Núñez", "Jose Nunez", "José Núñez"),
        ("Jose\u0301", "Jose", "José"),
        ("Łukasz Šťastný", "Lukasz Stastny", "Lukasz Stastný"),
        ("王小明", "[U+738B][U+5C0F][U+660E]", "[U+738B][U+5C0F][U+660E]"),
        ("a\u202e00.5$", "a[U+202E]00.5$", "a[U+202E]00.5$"),
        ("\x1b@x\n", "[U+001B]@x[U+000A]", "[U+001B]@x[U+000A]"),
        ("Großmann § 5 €", "Grossmann sec. 5 EUR", "Großmann § 5 EUR"),
    ],
)
def test_names_keep_what_the_paper_can_show(text: str, ascii_text: str, latin: str) -> None:
    """Spelt where there is a spelling, by its number where there is none; never dropped."""
    assert (printable(text), printable(text, latin=True)) == (ascii_text, latin)


def test_no_word_of_the_machine_room_is_on_a_slip() -> None:
    """The floor's words: next-jackpot money, game, table."""
    assert re.findall(r"\b(?:boot|seq|posting|reserve|microcents?|entry-kind)\b", words(WON), re.IGNORECASE) == []


FIRST = LINK._replace(others_cents=80_003, after=720_019_000_000)
SECOND = LINK._replace(share_ppm=100_000, before=800_022_000_000, award_cents=80_003, after=720_019_000_000)
"""20% of $10,000.28, then 10% of the $8,000.22 that are left: $800.022, up to the cent."""


@pytest.mark.parametrize(("working", "due"), [(FIRST, 700_506), (SECOND, 580_503)])
def test_two_hands_of_one_game_each_have_a_slip_that_adds_up(working: MeterWorking, due: int) -> None:
    """Each award is reckoned from the meter as it found it; the other one's part is named."""
    assert differences(slip(workings=(working,), due_cents=due)) == []


def test_what_another_hand_took_is_on_the_paper() -> None:
    """Without it before and after would not meet."""
    assert money(slip(workings=(FIRST,)), "Face Up")["Other hands of this game"] == Fraction("-800.03")


def test_beside_other_books_a_slip_has_the_name_of_its_book_in_its_number() -> None:
    """Each book has a series of its own: two slips of a site must not have one name."""
    one, other = slip(several_books=True), slip(several_books=True, book="solo")
    assert (slip().title, one.title, other.title) == ("demo-000042", "demo-main-000042", "demo-solo-000042")
    assert "VOID: REPLACED BY SLIP demo-solo-000043" in banners(slip(several_books=True, book="solo", replaced_by=43))


def test_a_copy_that_was_given_out_before_says_so_before_anything_else_that_a_print_says() -> None:
    assert banners(slip(given_before=True, environment=Environment.PRODUCTION)) == [
        "REPRINT: THIS COPY WAS GIVEN OUT BEFORE"]
