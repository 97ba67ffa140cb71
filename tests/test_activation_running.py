"""Changing the configuration of a real meterd that runs: whatever the file on the box says, the floor goes on."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

from activation_house import ChangingFloor, Person, Player, changing
from running_floor import until
from table_unit import SPOT, MqttUnit, WiredUnit

from firmware_bridge import messages
from firmware_bridge.messages import Hit, Wager

STRAY_SIGN = '\n[[sign]]\nid = "PG-05"\nkind = "page"\ntable = "PG-05"\nmeters = ["pg-link"]\n'
"""For a table that the plan does not have: somebody works on the next proposal."""
TRAY = ('envy_hand = "any-player"', 'envy_hand = "any-player"\ntray_limit = "$100.00"')


@contextlib.asynccontextmanager
async def played(floor: ChangingFloor) -> AsyncIterator[WiredUnit]:
    """The unit of PG-01, playable."""
    unit = WiredUnit(floor.port_of("hub-01"), "hub-01", "a1")
    unit.live()
    try:
        await unit.until_playable()
        yield unit
    finally:
        await unit.end()


async def people(floor: ChangingFloor, *names: str) -> list[Person]:
    """Signed in, one after the other."""
    return [await asyncio.to_thread(Person, floor, name) for name in names]


def alarm(floor: ChangingFloor) -> str:
    """What the alarm of a file says that is not in use; empty without one."""
    found = floor.rows("SELECT body FROM state WHERE kind = 'alarm' AND key LIKE 'file-not-in-use%'")
    return "".join(body for body, in found)


async def sent(unit: WiredUnit, *said: messages.Up) -> None:
    """Said as a hub does, again until it is acknowledged; the last one has the highest number."""
    last = unit.last_seq
    unit.keeps_from = last - len(said) + 1
    for _ in range(40):
        unit.say(*said)
        with contextlib.suppress(AssertionError):
            await unit.acknowledged(last, 0.5)
            break
    await unit.acknowledged(last, 0.1)
    unit.keeps_from = 0


async def locked(unit: WiredUnit) -> int:
    """A lock-out that is acknowledged; its number."""
    seq = unit.last_seq + 1
    unit.counted(seq, unit.wagers_total + 1)
    await sent(unit, messages.Lock("hub-01", unit.boot, seq, seq, (Wager(1, SPOT, 500),)))
    return seq


async def test_an_activation_is_refused_while_the_file_cannot_be_run_with_it(tmp_path: Path) -> None:
    """All or nothing: the page said Done, and all tables went down."""
    async with changing(tmp_path) as floor, played(floor) as unit:
        tess, dora = await people(floor, "tess", "dora")
        floor.change(*TRAY)
        proposed = await asyncio.to_thread(floor.proposed, tess)
        right = floor.config.read_text()
        for wrong in (STRAY_SIGN, '\n[[line]]\nid = "x"\ndevice = "hub-09"\nport = "/dev/x"\n', "\n[[[\n",
                      '\n[alarms]\nwebhook = "no"\n'):
            floor.config.write_text(right + wrong)
            code, told = await asyncio.to_thread(floor.activated, dora, proposed)
            assert (code, told["why"]) == (409, "not-now")
            assert "the file on the box does not fit it" in str(told)
            await locked(unit)
        assert (floor.process.poll(), floor.starts()) == (None, 1)
        assert floor.rows("SELECT count(*) FROM entry WHERE kind = 'config-activated'") == [(0,)]
        floor.config.write_text(right)
        assert (await asyncio.to_thread(floor.activated, dora, proposed))[0] == 200
        await until(lambda: floor.starts() == 2, 10)
        await locked(unit)
        assert floor.process.poll() is None


async def test_an_activation_is_refused_where_the_pages_could_not_be_opened(tmp_path: Path) -> None:
    async with changing(tmp_path) as floor:
        tess, dora = await people(floor, "tess", "dora")
        floor.change(*TRAY)
        proposed = await asyncio.to_thread(floor.proposed, tess)
        assert floor.broker is not None
        floor.change(f"[web]\nport = {floor.pages}", f"[web]\nport = {floor.broker.port}")
        code, told = await asyncio.to_thread(floor.activated, dora, proposed)
        assert (code, "the pages cannot be opened" in str(told)) == (409, True)
        floor.change(f"[web]\nport = {floor.broker.port}", '[web]\nport = 1\ntls_cert = "no.pem"\ntls_key = "no.pem"')
        code, told = await asyncio.to_thread(floor.activated, dora, proposed)
        assert (code, "no.pem" in str(told), floor.starts()) == (409, True, 1)


async def test_a_jackpot_ends_no_floor_whatever_the_file_says_by_then(tmp_path: Path) -> None:
    """What waits comes into force at the reset; lines, signs and pages go on, and people are told of the file."""
    async with changing(tmp_path) as floor, played(floor) as unit:
        tess, dora = await people(floor, "tess", "dora")
        floor.change('limit = "none"', 'limit = "$300,000.00"')
        proposed = await asyncio.to_thread(floor.proposed, tess)
        code, told = await asyncio.to_thread(floor.activated, dora, proposed)
        assert (code, told["told"]["waits"]) == (200, ["pg-link"])
        floor.change(str(floor.port_of("hub-01")), "/dev/no")
        floor.config.write_text(floor.config.read_text() + STRAY_SIGN)
        game = await locked(unit)
        unit.counted(game + 2, unit.wagers_total)
        top = (Hit(1, SPOT, "7-card-straight-flush"),)
        await sent(unit, messages.Hits("hub-01", unit.boot, game + 1, game, top, unit.boot),
                   messages.Close("hub-01", unit.boot, game + 2, game, unit.boot))
        await until(lambda: floor.starts() == 2, 15, "it begins again with what waited")
        await locked(unit)  # on the line that ran before, though the file names another port
        assert '"limit": "$300,000.00"' in json.dumps(floor.kinds("config")[-1])
        await until(lambda: "there is no table" in alarm(floor), 5)
        assert any("PG-05" in note["what"] for note in await floor.notes())
        assert floor.process.poll() is None


async def test_a_start_uses_what_fits_of_a_file_that_somebody_was_at_work_on(tmp_path: Path) -> None:
    """A power cut in the night: the ledger's plan is in force, and tables are played at."""
    async with changing(tmp_path) as floor, played(floor) as unit:
        await locked(unit)
        floor.kill()
        floor.change('id = "PG-03"', 'id = "PG-09"\nwings = 2')
        with floor.config.open("a") as out:
            out.write(STRAY_SIGN + '\n[[line]]\nid = "x"\ndevice = "hub-09"\nport = "/dev/x"\n'
                      '\n[[line]]\nid = "y"\ndevice = "hub-01"\nport = "/dev/y"\n[[lines]]\nid = "z"\n')
        await floor.start()
        await locked(unit)
        for words in ('[[sign]] "PG-05" table', '[[line]] "x" device', '[[line]] "y" device', "lines: unknown key",
                      "wings: unknown key"):
            assert any(words in note["what"] for note in await floor.notes()), words
        await until(lambda: "more: see the log" in alarm(floor), 5)
        assert {table["id"] for table in await floor.ask("api/v1/tables")} == {"PG-01", "PG-02", "PG-03"}
        assert (await floor.stop())[0] == 0


async def test_a_start_is_refused_where_nothing_sure_can_be_read(tmp_path: Path) -> None:
    async with changing(tmp_path) as floor:
        await floor.stop()
        right = floor.config.read_text()
        for wrong in ("\n[[[\n", '\n[ledger]\nurl = "sqlite:///other.db"\n'):
            floor.config.write_text(right + wrong)
            assert floor.spawn().wait(30) == 2
        floor.config.write_text(right.replace("[web]\n", "[web]\nbind = 5\n"))
        assert floor.spawn().wait(30) == 2
        assert "[web] bind" in floor.log()


async def test_wagers_and_people_pass_an_activation_and_nothing_is_lost_or_done_twice(tmp_path: Path) -> None:
    """Who asks in that moment waits, or is told that nothing was done; a hub sends again what was not answered."""
    async with changing(tmp_path) as floor, played(floor) as unit:
        assert floor.broker is not None
        async with MqttUnit(floor.broker.port, "hub-03", "m1") as hub:
            hub.live()
            await hub.until_playable()
            tess, dora, mona = await people(floor, "tess", "dora", "mona")
            players, answers, done = [Player(unit), Player(hub, 100)], list[tuple[int, str]](), asyncio.Event()
            playing = [asyncio.create_task(player.play()) for player in players]
            pressing = asyncio.create_task(press(mona, answers, done))
            for old, new in (TRAY, ('"$100.00"', '"$110.00"')):
                floor.change(old, new)
                proposed = await asyncio.to_thread(floor.proposed, tess)
                assert (await asyncio.to_thread(floor.activated, dora, proposed))[0] == 200
                began = time.monotonic()
                await until(lambda since=began: all(  # type: ignore[misc]
                    len([1 for at, _ in player.waits if at > since]) > 5 for player in players), 20, "both play on")
            for player in players:
                player.end()
            done.set()
            await asyncio.gather(*playing, pressing)
            locks = sum(len(player.waits) for player in players)
            assert floor.rows("SELECT count(*) FROM entry WHERE kind = 'lock'") == [(locks,)]
            assert floor.rows("SELECT count(*) FROM entry WHERE kind = 'loss'") == [(0,)]
            assert {code for code, _ in answers} <= {200, 409}
            assert all("nothing was done" in said for code, said in answers if code == 409)
            read = sum(code == 200 for code, _ in answers)
            assert floor.rows("SELECT count(*) FROM entry WHERE kind = 'sign-read'") == [(read,)]
            assert floor.starts() == 3
            assert max(wait for player in players for _, wait in player.waits) < 10
        await floor.stop()
        assert floor.verified().startswith("GOOD")


async def press(person: Person, answers: list[tuple[int, str]], done: asyncio.Event) -> None:
    """Presses a button again and again."""
    while not done.is_set():
        code, told = await asyncio.to_thread(person.act, "sign-read", meter="pg-solo", read="$1.00")
        answers.append((code, str(told)))
        await asyncio.sleep(0.02)


async def test_a_date_of_an_approval_is_a_date_and_not_to_come(tmp_path: Path) -> None:
    async with changing(tmp_path) as floor:
        tess, dora = await people(floor, "tess", "dora")
        floor.change(*TRAY)
        proposed = await asyncio.to_thread(floor.proposed, tess)
        given = {"hash": proposed, "authority": "PGCB", "approval": "A-1"}
        for approved, words in (("not a date at all", "is no date"), ("2026-02-30", "is no date"),
                                ("20260131", "is no date"), ("2999-01-01", "is to come")):
            code, told = dora.act("config-activated", approved=approved, **given)
            assert (code, told["why"], words in str(told)) == (422, "wrong-field", True), told
        assert dora.act("config-activated", approved="2026-01-31", **given)[0] == 200
