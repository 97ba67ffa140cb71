"""What the daemon keeps of what is no entry, and how long its notes are (design section 7; I5)."""

from controller.intake import NotTaken
from controller.metrics import Stats
from controller.refusal import Refusal
from controller.snapshot import Note
from controller.units import LIVE_NOTES, Strays

STRANGER = NotTaken(Refusal.UNKNOWN_DEVICE, "no table has this unit", "hub-77")


def test_a_stray_says_who_spoke_where_and_what_to_do() -> None:
    note = Strays(Stats()).add(STRANGER, "", "mqtt/hub-77", 5)
    assert (note.what, note.remedy != "", note.at) == (
        "On mqtt/hub-77: a unit that is no table's spoke (hub-77: no table has this unit)", True, 5)


def test_a_stray_is_counted_by_its_reason() -> None:
    """D25: a unit that nobody registered feeds no meter."""
    stats = Stats()
    Strays(stats).add(STRANGER, "", "mqtt/hub-77", 5)
    assert stats.refusals["unknown-device"] == 1


def test_the_same_again_renews_its_note_with_a_count() -> None:
    strays = Strays(Stats())
    for at in range(1, 4):
        strays.add(STRANGER, "", "mqtt/hub-77", at)
    (note,) = strays.notes
    assert (note.at, note.what.endswith("(3 times)")) == (3, True)


def test_notes_are_newest_first() -> None:
    strays = Strays(Stats())
    for name in ("hub-71", "hub-72", "hub-71"):
        strays.add(STRANGER._replace(device=name), "", f"mqtt/{name}", 1)
    assert ["hub-71" in note.what for note in strays.notes] == [True, False]


def test_notes_are_bounded_and_the_oldest_go() -> None:
    strays = Strays(Stats())
    for number in range(LIVE_NOTES + 10):
        strays.keep(Note(number, "fault", "line-down", f"T{number}", "down", "look", None))
    assert (len(strays.notes), strays.notes[0].table, strays.notes[-1].table) == (
        LIVE_NOTES, f"T{LIVE_NOTES + 9}", "T10")
