"""People at a real meterd, by a real browser: nothing between the finger and the ledger is a stand-in."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from controller.config import load
from controller.demo import SECRET, STAFF, floor_text, free_port
from controller.floor import Floor
from controller.ledger.verify import verify
from controller.ledger.writer import Batch, create
from controller.people_on_box import Newcomer, begin
from controller.reports import catalogue
from tests.books_house import message_of
from tests.ledger_house import entered, hit, lock, rows, said
from tests.test_words_doc import found_in

ROOT = Path(__file__).parents[2]
TOP = "7-card-straight-flush"
BEFORE = time.time_ns() // 1_000 - 2 * 3_600 * 1_000_000
"""Two hours ago: what was played and who was made before this meterd started."""


class Floorhouse:
    """A running meterd on the demo's floor, with its people, and games that were played before it started."""

    def __init__(self, folder: Path, began: int = BEFORE) -> None:
        self.folder, self.port = folder, free_port()
        self.config, self.ledger = folder / "floor.toml", folder / "ledger.db"
        self.config.write_text(floor_text(folder, ROOT / "config/paytables", free_port(), self.port))
        plan = load(self.config)[0]
        create(self.ledger, [Batch(book, *Floor.opened(plan, book, began, "init").drain()) for book in plan.books])
        begin(self.ledger, "a test", [Newcomer(person, name, SECRET) for person, name in STAFF], BEFORE)
        entered(self.ledger, lambda floor: [floor.take(message_of(one), BEFORE) for one in (
            lock(1, 1, 2, 3, 5), hit(2, 1, 3, TOP), said("count", 3, round=1, chips=3), said("close", 4, round=1),
            lock(5, 2, 1, 4), hit(6, 2, 4, "straight-flush"), said("close", 7, round=2))])
        self.log = (folder / "meterd.log").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "controller", "--config", str(self.config)], cwd=ROOT, stderr=self.log)
        self.wait()

    def wait(self) -> None:
        ends = time.monotonic() + 30
        while time.monotonic() < ends:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)
        pytest.fail((self.folder / "meterd.log").read_text())

    def at(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def kinds(self, kind: str) -> int:
        return int(rows(self.ledger, "SELECT count(*) FROM entry WHERE kind = ?", kind)[0][0])

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(15)
        self.log.close()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Floorhouse]:
    made = Floorhouse(tmp_path_factory.mktemp("floor"))
    yield made
    made.end()


def signed_in(chromium: Browser, house: Floorhouse, name: str) -> Page:
    page = chromium.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.set_default_timeout(8_000)
    page.goto(house.at("/sign-in"))
    page.fill("input[name=name]", name)
    page.fill("input[name=secret]", SECRET)
    page.click("main button[type=submit]")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    return page


def test_an_award_is_verified_by_one_and_paid_by_another(chromium: Browser, house: Floorhouse) -> None:
    """The whole of it: sensor's lock-out, hit, two people, two browsers, one payment."""
    anna = signed_in(chromium, house, "anna")
    anna.goto(house.at("/awards/PG-01/2"))
    anna.get_by_role("button", name="Verify").first.click()
    expect(anna.locator("p.flash-good")).to_be_visible()
    ben = signed_in(chromium, house, "ben")
    ben.goto(house.at("/awards/PG-01/2"))
    form = ben.locator("form[action='/acts/award-paid']").first
    form.locator("select[name=how]").select_option("chips")
    form.locator("button[type=submit]").click()
    expect(ben.locator("p.flash-good")).to_be_visible()
    assert (house.kinds("award-verified"), house.kinds("award-paid")) == (1, 1)


def test_the_page_pressed_again_pays_nothing_again(chromium: Browser, house: Floorhouse) -> None:
    """MO-06: back, and the same form once more."""
    anna = signed_in(chromium, house, "anna")
    anna.goto(house.at("/tables/PG-02"))
    form = anna.locator("form[action='/acts/table-closed']").first
    act_id = form.locator("input[name=act_id]").get_attribute("value")
    csrf = form.locator("input[name=csrf]").get_attribute("value")
    sent = {"act_id": act_id, "csrf": csrf, "back": "/", "table": "PG-02", "note": "its unit is changed",
            "third_name": "ben", "third_secret": SECRET}  # no unit is heard on this floor
    for _ in range(3):
        answer = anna.request.post(house.at("/acts/table-closed"), form=sent, headers={"origin": house.at("")})
        assert answer.ok
    assert house.kinds("table-closed") == 1


PAGES = ("/", "/awards", "/awards/PG-01/1", "/tables/PG-01", "/meters", "/meters/pg-link", "/alarms", "/day",
         "/reports", "/people", "/configuration", "/secret", "/paytables", "/paytables/progressive-4", "/sign/PG-01",
         "/meters/pg-link/curve", "/nowhere", "/sign-in")
TODAY = (datetime.now(ZoneInfo("America/New_York")) - timedelta(hours=6)).date()
"""The demo's gaming day."""
REPORTS = tuple(f"/reports/{name}?day={TODAY}" for name in catalogue.REPORTS)


def test_no_page_keeps_people_out(chromium: Browser, house: Floorhouse) -> None:
    """WCAG AA by axe-core: nothing serious or critical on any page."""
    mona = signed_in(chromium, house, "mona")
    found = {}
    for path in (*PAGES, *REPORTS):
        mona.goto(house.at(path))
        wrong = [one for one in Axe().run(mona).response["violations"] if one["impact"] in ("serious", "critical")]
        if wrong:
            found[path] = [(one["id"], one["nodes"][0]["html"][:120]) for one in wrong]
    assert found == {}


def test_no_page_tells_an_alarm_twice(chromium: Browser, house: Floorhouse) -> None:
    mona = signed_in(chromium, house, "mona")
    twice = []
    for path in PAGES:
        mona.goto(house.at(path))
        if mona.locator("section.alarm-banner").count() > 1:
            twice.append(path)
    assert twice == []


def test_no_page_and_no_report_speaks_in_our_words(chromium: Browser, house: Floorhouse) -> None:
    """docs/WORDS.md, on the pages as people read them."""
    mona = signed_in(chromium, house, "mona")
    found = {}
    for path in (*PAGES, *REPORTS):
        mona.goto(house.at(path))
        if path in REPORTS:
            expect(mona.get_by_role("link", name="CSV").first).to_be_visible()
        ours = found_in(mona.locator("body").inner_text())
        if ours:
            found[path] = ours
    assert found == {}


def test_a_configuration_is_proposed_from_the_box_and_activated_by_another_department(
    chromium: Browser, house: Floorhouse
) -> None:
    """D2, D5: and meterd goes on with it, without losing a session."""
    house.config.write_text(house.config.read_text().replace('sign_from = "$500.00"', 'sign_from = "$600.00"', 1))
    tess = signed_in(chromium, house, "tess")
    tess.goto(house.at("/configuration"))
    tess.fill("#propose-reason", "as approved")
    tess.get_by_role("button", name="Propose the file").click()
    expect(tess.locator("p.flash-good")).to_be_visible()
    dora = signed_in(chromium, house, "dora")
    dora.goto(house.at("/configuration"))
    expect(dora.get_by_role("region", name="Proposed configuration")).to_contain_text("sign_from: $500.00 -> $600.00")
    expect(dora.locator("main q")).to_have_text("as approved")
    form = dora.locator("form[action='/acts/config-activated']").first
    for field, words in (("authority", "the Board"), ("approval", "2026-117"), ("approved", "2026-11-30")):
        form.locator(f"input[name={field}]").fill(words)
    form.locator("button[type=submit]").click()
    ends = time.monotonic() + 20
    while house.kinds("config") < 2 and time.monotonic() < ends:
        time.sleep(0.1)
    house.wait()
    time.sleep(2.0)
    house.wait()
    dora.goto(house.at("/configuration"))
    expect(dora.locator("table.list")).to_contain_text("the Board, 2026-117")
    assert house.process.poll() is None


@pytest.fixture
def older(tmp_path: Path) -> Iterator[Floorhouse]:
    """A floor whose ledger began two days ago: a day of it is over."""
    made = Floorhouse(tmp_path, BEFORE - 2 * 24 * 3_600 * 1_000_000)
    yield made
    made.end()


def test_the_day_is_closed_signs_are_read_and_the_shift_handed_over(chromium: Browser, older: Floorhouse) -> None:
    house = older
    dora = signed_in(chromium, house, "dora")
    dora.goto(house.at("/day"))
    expect(dora.locator("#open")).to_contain_text("Awards that are not paid: 2")
    dora.locator("summary", has_text="Close the gaming day").click()
    dora.locator("form[action='/acts/day-closed'] button[type=submit]").click()
    expect(dora.locator("p.flash")).to_contain_text("Done")
    expect(dora.locator("#done")).to_contain_text("carried over: no awards")
    mona = signed_in(chromium, house, "mona")
    mona.goto(house.at("/day"))
    mona.locator("summary", has_text="Hand over the shift").click()
    form = mona.locator("form[action='/acts/handed-over']")
    expect(mona.locator("section", has=form)).to_contain_text("Awards that are not paid: 2")
    form.locator("input[name=second_name]").fill("sam")
    form.locator("input[name=second_secret]").fill(SECRET)
    form.locator("button[type=submit]").click()
    expect(mona.locator("p.flash")).to_contain_text("Done")
    assert (house.kinds("day-closed"), house.kinds("handed-over")) == (1, 1)


def test_evidence_of_a_game_is_gathered_by_a_button_and_checked_elsewhere(
    chromium: Browser, house: Floorhouse, tmp_path: Path
) -> None:
    """D16, D17: one click; and an entry says who took it."""
    dora = signed_in(chromium, house, "dora")
    dora.goto(house.at("/awards/PG-01/1"))
    with dora.expect_download() as found:
        dora.get_by_role("button", name="Gather everything about this game").click()
    archive = tmp_path / "evidence.zip"
    found.value.save_as(archive)
    ran = subprocess.run([sys.executable, "-m", "controller.cli", "verify", "--evidence", str(archive)], cwd=ROOT,
                         capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, house.kinds("exported")) == (0, 1), ran.stderr


def test_all_that_people_did_is_replayed_from_the_ledger_alone(house: Floorhouse) -> None:
    assert verify(house.ledger, replay=True)
