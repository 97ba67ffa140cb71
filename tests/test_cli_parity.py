"""Everything that people do on the pages is also possible in ``meterctl`` on the box (issue 3, part 11).

Each act is done for real by the command line: a meterd of its own, over TLS, its desk and its ledger.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from books_house import message_of
from cli_house import BEFORE, BEGAN, SECRET, CliHouse, commands
from ledger_house import hit, lock, said

from controller import losses
from controller.acts import KINDS
from controller.config import load
from controller.floor import Floor
from controller.ledger.verify import verify
from controller.people_acts import MADE_INSIDE

ON_THE_BOX = {
    "people-begun": "`meterctl user add` while no daemon runs: tests/test_cli_people.py",
    "secret-set-on-box": "`meterctl user secret` while no daemon runs: tests/test_cli_people.py",
}
"""What no page offers; the box does."""
BY_ITSELF = {
    "signed-in": "every command with --as makes it",
    "signed-out": "every command with --as makes it",
    "sign-in-refused": "a wrong secret makes it, on the page and here",
    "door-refused": "a token that may not, or a signature that does not count, makes it, on the page and here",
    "exported": "of a page's download, and of `meterctl report`, `evidence` and `slip`: tests/test_slip_given.py",
    "printed": "as exported; `meterctl act slip-printed printer=` makes it at a printer of the floor: "
               "tests/test_slip_at_printer.py",
    "print-failed": "as printed",
}
"""What nobody asks for on a page either: the controller enters it when the thing itself happens."""

MORE = """
[awards]
release_from = "$400.00"
paper_from = "$400.00"
paper = ["Identity checked", "Cards to camera"]

[[meter]]
id = "pg-next"
name = "Face Up Pai Gow Next"
paytable = "progressive-4"
part = "main"
tie_policy = "split"
order = "partials-first"
below_seed = "allow"
reserve_surplus = "keep"
rounding = "up"
limit = "none"
overflow = "next-meter"
unreasonable_contribution = "$10.00"
reserve_to_house = true
seed_recovery = true

[[table]]
id = "PG-04"
device = "hub-04"
seats = 6
pay_order = [1, 2, 3, 4, 5, 6]
envy_hand = "any-player"

[[table.spot]]
id = "progressive"
paytable = "progressive-4"
meters = { main = "pg-next" }

[[sign]]
id = "pit-1"
kind = "page"
table = "PG-01"
"""
NEW = MORE.partition("[[table]]")[0].partition("[[meter]]")[2], MORE.partition("[[table]]")[2].partition("[[sign]]")[0]


def played(floor: Floor) -> None:
    """Games of an evening: hands that wait for people, a count that differs, wagers on pg-next, a lost message."""
    games: list[Any] = [
        (lock, (1, 2, 3), (3, "four-of-a-kind")), (lock, (1, 2), (1, "straight-flush")),
        (lock, (1, 2, 3, 4), (1, "royal-flush")), (lock, (1, 2), (2, "four-of-a-kind")), (lock, (1, 2), None)]
    seq = 0
    for number, (_, seats, won) in enumerate(games, 1):
        for made in [lock(seq := seq + 1, number, *seats)] + ([hit(seq := seq + 1, number, *won)] if won else []):
            floor.take(message_of(made), BEFORE)
        floor.take(message_of(said("close", seq := seq + 1, round=number)), BEFORE)
    floor.take(message_of(lock(seq + 1, 6, 1, 2)), BEFORE)
    for made in (lock(1, 1, 1, 2, device="hub-02"), said("count", 2, "hub-02", round=1, chips=3),
                 said("close", 3, "hub-02", round=1)):
        floor.take(message_of(made), BEFORE)
    for number in range(1, 5):
        floor.take(message_of(lock(2 * number - 1, number, 1, 2, 3, device="hub-04")), BEFORE)
        floor.take(message_of(said("close", 2 * number, "hub-04", round=number)), BEFORE)
    losses.lose(floor, "hub-03", "b1", 1, 2, BEFORE)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CliHouse]:
    made = CliHouse(tmp_path_factory.mktemp("floor"), MORE, played)
    yield made
    made.end()


class Evening:
    """People who do one thing after the other at a terminal."""

    def __init__(self, house: CliHouse) -> None:
        self.house = house

    def act(self, kind: str, who: str, *fields: str, second: str = "", third: str = "") -> dict[str, Any]:
        """One act by ``meterctl act``; what its entry tells."""
        before = self.house.entries(kind)
        signers = [word for flag, name in (("--second", second), ("--third", third)) if name for word in (flag, name)]
        told = self.house.told("act", who, *signers, kind, *fields)
        assert self.house.entries(kind) == before + 1
        return dict(told["told"])

    def award(self, kind: str, who: str, game: int, seat: int, *fields: str, **signers: str) -> dict[str, Any]:
        """One act about an award of table PG-01."""
        return self.act(kind, who, "table=PG-01", f"game={game}", f"seat={seat}", "spot=progressive", *fields,
                        **signers)

    def does(self, kind: str, command: str, who: str, *words: str, **more: str) -> str:
        """One act by a command of its own; what it prints."""
        before = self.house.entries(kind)
        made = self.house.asks(command, who, *words, **more)
        assert made.exit_code == 0, made.output
        assert self.house.entries(kind) == before + 1
        return made.stdout


def awards(evening: Evening) -> None:
    evening.award("award-verified", "anna", 1, 3)
    slip = evening.award("slip-printed", "anna", 1, 3)
    if "slip-given" in KINDS:
        evening.award("slip-given", "anna", 1, 3, f"number={slip['number']}", f"copy={slip['copy']}")
    evening.award("award-paid", "ben", 1, 3, "handed=$105.00", "how=chips")
    evening.award("award-verified", "anna", 2, 1)
    evening.award("award-paid", "ben", 2, 1, "handed=$205.00", "how=chips")
    evening.award("paid-in-error", "anna", 2, 1, "reason=another seat", second="ben", third="dora")
    evening.award("award-verified", "anna", 3, 1)
    evening.award("award-released", "dora", 3, 1)
    evening.award("paper-done", "anna", 3, 1, "ticked=Identity checked; Cards to camera", "payee=P. Layer",
                  "taxable=not-taxable")
    evening.award("award-paid", "ben", 3, 1, "handed=$505.00", "how=cheque")
    evening.award("envy-paid", "mona", 3, 1, "to=2", "how=chips")
    evening.award("envy-unclaimed", "mona", 3, 1, "to=3", "reason=the player left")
    evening.award("award-refused", "anna", 4, 2, "reason=no such hand", second="ben")
    evening.act("manual-slip", "anna", "table=PG-01", "written=M-7", "when=2026-12-01 00:10", "seat=2",
                "outcome=four-of-a-kind", "handed=$100.00", "reason=the box was down", second="ben")


def corrections(evening: Evening) -> None:
    evening.award("hit-added", "anna", 5, 1, "outcome=four-of-a-kind", "reason=not keyed", second="ben")
    evening.award("hit-changed", "anna", 5, 1, "outcome=straight-flush", "reason=looked again", second="ben")
    evening.award("hit-withdrawn", "anna", 5, 1, "reason=no such hand", second="ben")
    evening.award("wager-added", "anna", 6, 5, "reason=the sensor was dark", second="ben")
    evening.award("wager-removed", "anna", 6, 5, "reason=it was none", second="ben")
    evening.act("count-closed", "anna", "table=PG-02", "game=1", "finding=a chip rolled", second="ben")


def tables(evening: Evening) -> None:
    evening.act("loss-accepted-by", "mona", "table=PG-03", "reason=chips counted", second="dora")
    unheard = {"third": "ben"} if KINDS["table-closed"].third else {}
    for table in ("PG-03", "PG-04"):
        evening.act("table-closed", "anna", f"table={table}", "note=its unit is not connected", **unheard)
    evening.act("table-opened", "anna", "table=PG-03")


def configuration(evening: Evening) -> None:
    """A file with another meter and its table is proposed, looked at, withdrawn; proposed again, and activated."""
    house = evening.house
    file = house.folder / "next.toml"
    meter, table = (part.replace("pg-next", "pg-new").replace("-04", "-05") for part in NEW)
    file.write_text(house.config.read_text() + f"\n[[meter]]{meter}\n[[table]]{table}")
    evening.does("config-proposed", "config propose", "tess", "--reason", "another link", str(file))
    found = house.told("config proposals", "dora")
    (proposal,) = found["proposals"]
    assert (found["hash"], proposal["hash"]) == (load(house.config)[0].hash, load(file)[0].hash)
    assert any("pg-new" in line for line in proposal["differences"])
    words = house.asks("config proposals", "dora").stdout
    times = proposal["times"][1:]  # the first is what the clock shows
    assert all(part in words for part in (
        proposal["hash"], "by tess (it)", "another link", *proposal["differences"], *times))
    offline = house.bare("config", "proposals", "--ledger", house.ledger)
    assert proposal["hash"] in offline.stdout
    evening.does("config-withdrawn", "config withdraw", "tess", proposal["hash"])
    evening.act("config-proposed", "tess", f"document={file}", "reason=as approved")
    evening.does("config-activated", "config activate", "dora", "--authority", "The board", "--approval", "P-9",
                 "--approved", "2026-01-02", proposal["hash"])
    house.until(lambda: "starting again with it" in house.log() and house.log().count("pages on") == 2, 30)
    assert house.told("config proposals", "dora")["hash"] == proposal["hash"]


def meters(evening: Evening) -> None:
    why = ("reason=the sign and the meter differed", "approval=P-17")
    two: dict[str, str] = {"second": "dora"}
    today = load(evening.house.config)[0].gaming_day(BEFORE + 60_000_000).isoformat()
    evening.act("opening-entered", "dora", "meter=pg-new", "base=$10,000.00", "approval=P-9")
    evening.act("opening-accepted", "mona", "meter=pg-new", "base=$10,000.00")
    adjust = ("meter=pg-link", "by_amount=$1.00", *why)
    evening.act("meter-adjusted", "mona", *adjust, "direction=raise", "code=restoration", **two)
    told = evening.act("meter-adjusted", "mona", *adjust, "direction=lower", "code=malfunction-correction", **two)
    evening.act("notice-sent", "mona", "meter=pg-link", f"notice={told['notice']}", "how=by mail to the board")
    evening.act("reserve-to-house", "mona", "meter=pg-next", "by_amount=$0.05", *why, **two)
    evening.act("seed-recovered", "mona", "meter=pg-next", "by_amount=$0.05", *why, **two)
    evening.act("meter-transferred", "mona", "meter=pg-next", "to=pg-link", *why, **two)
    evening.act("retirement-announced", "mona", "meter=pg-next", f"effective={today}", *why, **two)
    evening.act("meter-retired", "mona", "meter=pg-next", *why, **two)


def the_day(evening: Evening) -> None:
    """The books of the day; and an alarm that is found by its kind and place, as ``meterctl alarms`` tells them."""
    house = evening.house
    first = load(house.config)[0].gaming_day(BEGAN)
    evening.act("day-closed", "dora", f"day={first}")
    evening.act("check-done", "dora", "check=monthly-reading", "meter=pg-link", "finding=as recorded")
    evening.act("hold-set", "mona", "id=dispute-1", "reason=a claim")
    evening.act("hold-lifted", "mona", "id=dispute-1", "reason=settled", second="gus")
    evening.act("handed-over", "mona", second="sam")
    evening.act("sign-read", "anna", "meter=pg-link", "read=$1.00")

    def stands() -> dict[str, Any]:
        return next((one for one in house.told("alarms", "anna") if one["alarm"] == "reading-differs"), {})

    found = house.until(stands)
    assert (found["place"], found["state"]) == ("pg-link", "raised")
    for words in (house.asks("alarms", "anna").stdout, house.bare("alarms", "--ledger", house.ledger).stdout):
        assert re.search(r"reading-differs +pg-link +waits +20\d\d-", words)
    named = (f"alarm={found['alarm']}", f"place={found['place']}")
    evening.act("alarm-acknowledged", "anna", *named)
    assert (stands()["state"], stands()["acknowledged_by"]) == ("acknowledged", "anna")
    evening.act("alarm-cleared", "anna", *named)
    assert not stands()


def people(evening: Evening) -> None:
    house = evening.house
    evening.does("person-proposed", "user propose", "mona", "zoe", "--full-name", "Zoe", "--role", "supervisor",
                 "--department", "security")
    halves = evening.does("person-enabled", "user enable", "dora", "zoe")
    assert "Second half" in halves
    evening.act("person-change-proposed", "mona", "id=zoe", "role=supervisor", "department=table-games")
    evening.does("person-change-enabled", "user enable", "dora", "--change", "zoe")
    evening.act("person-change-proposed", "mona", "id=zoe", "role=auditor", "department=audit")
    evening.act("person-withdrawn", "mona", "id=zoe", "reason=not now")
    evening.does("person-disabled", "user disable", "mona", "zoe", "--reason", "left")
    evening.act("remote-opened", "mona", "id=tess", "minutes=30", "reason=a fault at night")
    evening.act("remote-ended", "mona", "id=tess", "reason=mended")
    token = evening.does("token-made", "token make", "anna", "nightly", "--scope", "act", "--days", "30").strip()
    assert re.fullmatch(r"nightly\.[0-9a-f]{64}", token)
    listed = house.bare("token", "list", "--ledger", house.ledger).stdout
    assert re.search(r"nightly +anna +act", listed) and token not in listed
    (house.folder / "token").write_text(token)
    by_token = house.bare("alarms", "--config", house.config, "--token-file", house.folder / "token")
    assert by_token.exit_code == 0, by_token.output
    evening.does("token-ended", "token end", "anna", "nightly", "--reason", "not needed")
    evening.does("secret-changed", "secret", "otto", secrets=f"{SECRET}\nfour new words here\n")
    assert house.asks("alarms", "otto", secrets="four new words here\n").exit_code == 0
    assert house.asks("alarms", "otto").exit_code == 2


@pytest.mark.timeout(300)
def test_every_act_that_a_page_offers_is_done_by_meterctl(house: CliHouse) -> None:
    """And the ledger of that evening proves itself, every entry reckoned anew."""
    evening = Evening(house)
    for part in (awards, corrections, tables, configuration, meters, the_day, people):
        part(evening)
    assert {kind for kind in KINDS if not house.entries(kind)} <= ON_THE_BOX.keys() | BY_ITSELF.keys()
    verify(house.ledger, replay=True)


def test_what_is_excepted_is_no_request_of_a_page_and_has_its_reason() -> None:
    made_elsewhere = {"secret-changed", "token-made"}
    assert ON_THE_BOX.keys() | BY_ITSELF.keys() | made_elsewhere == MADE_INSIDE


def test_what_each_sign_shows_now_is_listed(house: CliHouse) -> None:
    made = house.bare("signs", "--config", house.config)
    assert re.search(r"pit-1 +page +PG-01 +yes .*\[TEST\]; Face Up Pai Gow Link \$10,\d\d\d", made.stdout), made.output


def test_no_command_takes_a_secret_or_token_as_an_argument(house: CliHouse) -> None:
    """CF-06: a command line is seen by everybody on the box, and kept by shells."""
    for words in commands():
        told = house.bare(*words.split(), "--help").stdout
        assert not re.search(r"--(secret|token|password)\s+[A-Z]", told), words
