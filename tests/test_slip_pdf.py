"""The PDF of a slip, read back from its own streams: all of the content, and always the same bytes."""

import re

import pytest
from fpdf import FPDF
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.people import Person, Role
from controller.slip import EnvyPaid, Look, Override, Paper, Slip, SlipState, Step, lines, printable, slip_code
from controller.slip_pdf import slip_pdf
from tests.slip_house import CARA, WON, contents_of, pages_of, slip

AT = 1_793_930_400_000_000
"""2026-11-06 02:00:00 UTC."""
RIGHT_EDGE_PT = (139.7 - 11 - 1) / 25.4 * 72


def texts(made: Slip) -> list[str]:
    """Everything that the PDF shows."""
    return [text for page in pages_of(slip_pdf(made, AT)) for text in page]


def squeezed(text: str) -> str:
    """Without blanks: lines break where the paper ends."""
    return re.sub(r"\s+", "", text)


def test_the_pdf_says_all_that_the_slip_says() -> None:
    """Nothing of the shared content is left out (MO-10)."""
    shown = squeezed("".join(texts(WON)))
    said = [part for block in lines(WON) for part in (block.title, *(p for row in block.rows for p in row[:2]))]
    assert [part for part in said if squeezed(part) not in shown] == []


def test_the_same_slip_is_the_same_bytes() -> None:
    """R-58: a stored copy can be compared with a fresh one."""
    assert slip_pdf(WON, AT) == slip_pdf(WON, AT)


def test_the_date_inside_is_the_one_given() -> None:
    """No clock is read."""
    assert b"/CreationDate (D:20261106020000Z" in slip_pdf(WON, AT)


def test_no_font_is_carried_along() -> None:
    """Core fonts are in every reader and printer."""
    pdf = slip_pdf(WON, AT)
    assert (b"/FontFile" in pdf, set(re.findall(rb"/BaseFont /([\w-]+)", pdf))) == (
        False, {b"Helvetica", b"Helvetica-Bold"})


def test_it_is_half_a_letter_page() -> None:
    """5.5 by 8.5 inches."""
    assert re.findall(rb"/MediaBox \[([\d. ]+)\]", slip_pdf(WON, AT))[0].split() == [b"0", b"0", b"396.00", b"612.00"]


LONG = slip(
    reprint=2, state=SlipState.REFUSED, reason="x" * 400, envy=(EnvyPaid(1, 5),) * 64,
    paper=Paper(120_000, tuple((f"Question {n}", "") for n in range(64))),
    steps=tuple(Step("Signed", Person(f"person-{n}", Role.SUPERVISOR, "table-games"), "now") for n in range(64)),
)


def test_every_page_bears_the_warnings_and_the_number() -> None:
    """A page that is torn off is still known for what it is."""
    pages = pages_of(slip_pdf(LONG, AT))
    code = slip_code(WON.entry, WON.hash)
    assert len(pages) > 3
    loud = ["TRAINING: NO REAL MONEY", "REFUSED", "REPRINT 2"]
    assert [(page[:3], "".join(page[-2:])) for page in pages] == [
        (loud, f"demo-000042   {code}   page {n} of {len(pages)}") for n in range(1, len(pages) + 1)]


def test_the_total_stands_with_the_signatures() -> None:
    """What is signed is named where it is signed, even on a page of its own."""
    assert any("Signatures: PAID $7,005.06" in page and "Player: José Núñez" in page for page in
               pages_of(slip_pdf(WON, AT)))


def placed(pdf: bytes) -> list[tuple[str, float]]:
    """Each text in the slip's plain size with the place where it ends, in points from the left."""
    ruler = FPDF(unit="pt")
    ruler.set_font("helvetica", "", 8.5)
    found = []
    for content in contents_of(pdf):
        found += re.findall(r"BT ([\d.]+) [\d.]+ Td \((.*?)\) Tj", content.decode("latin-1"))
    return [(text, float(x) + ruler.get_string_width(text)) for x, text in found]


def test_money_ends_at_the_right_edge() -> None:
    """Figures of one width, one below the other."""
    plain = {row.text for block in lines(WON) for row in block.rows if row.look is Look.MONEY}
    ends = {text: round(end - RIGHT_EDGE_PT, 1) for text, end in placed(slip_pdf(WON, AT)) if text in plain}
    assert ends == dict.fromkeys(plain, 0.0)


@given(st.text(max_size=400), st.text(max_size=200), st.text(max_size=64))
@settings(max_examples=60, deadline=None)
def test_no_name_stops_a_slip_from_printing(player: str, reason: str, name: str) -> None:
    """Every script, every sign; what the font lacks is shown by its number (WE-01)."""
    person = Person(name, Role.SUPERVISOR, name)
    made = slip(player=player, hand=name, table=name, steps=(Step("Paid", person, "now"),),
                override=Override(700_000, reason, person))
    shown = squeezed("".join(texts(made)))
    assert squeezed(printable(name, latin=True)) in shown


@pytest.mark.parametrize("name", ["{nb}", "**bold**", "(a) Tj ET", "\\", ") Tj (", "\x01pages\x01"])
def test_a_name_is_shown_as_it_is_written(name: str) -> None:
    """Nothing in a name is an instruction to the one who draws it."""
    assert f"Player: {printable(name, latin=True)}" in texts(slip(player=name))


def test_a_long_word_is_broken_and_not_lost() -> None:
    """400 letters without a blank, over as many lines and pages as they need."""
    made = slip(state=SlipState.REFUSED, reason="x" * 400)
    assert sum(len(text) for text in texts(made) if set(text) == {"x"}) == 400


def test_the_longest_warnings_leave_room_for_the_slip() -> None:
    """A site whose name no font has, in a void slip that does not add up."""
    made = slip(site="\u738b" * 64, replaced_by=43, reprint=1, state=SlipState.REFUSED, due_cents=1)
    assert 1 < len(pages_of(slip_pdf(made, AT))) < 9


def test_an_override_is_on_the_paper() -> None:
    """R-59."""
    assert {"OVERRIDE", "$7,000.00", "chips short"} <= set(texts(slip(override=Override(700_000, "chips short", CARA))))


def test_a_slip_without_steps_prints() -> None:
    """Before anybody has done anything."""
    assert "Verified by" in texts(slip(state=SlipState.TO_PAY, steps=(), player=""))
