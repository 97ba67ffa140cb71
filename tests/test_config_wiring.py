"""How the box is wired: ledger, lines, broker, pages and signs; no secret is ever shown (CF-06)."""

from pathlib import Path

import pytest
from floor_files import FLOOR, MARK, Copy, contract_floor

from controller.wiring import LinePlan, SerialSettings, SignKind, WebPlan


@pytest.fixture
def floor(tmp_path: Path) -> Copy:
    return contract_floor(tmp_path)


def test_the_ledger_stands_beside_the_file_that_names_it(floor: Copy) -> None:
    assert floor.wiring().ledger_url == f"sqlite:///{floor.folder}/ledger.db"


def test_an_absolute_ledger_stays_where_it_is(floor: Copy) -> None:
    floor.change(FLOOR, "sqlite:///ledger.db", "sqlite:////var/lib/meterd/ledger.db")
    assert floor.wiring().ledger_url == "sqlite:////var/lib/meterd/ledger.db"


@pytest.mark.parametrize("url", ["sqlite://", "ledger.db", "postgresql://meterd:" + MARK + "@db/meterd"])
def test_any_other_ledger_is_refused_without_showing_its_url(floor: Copy, url: str) -> None:
    """CF-06."""
    said = floor.change(FLOOR, "sqlite:///ledger.db", url).refused()
    assert said == 'floor.toml: [ledger] url: not an SQLite ledger; write "sqlite:///ledger.db", relative to this file'


def test_pages_are_for_this_machine_only_unless_configured(floor: Copy) -> None:
    assert floor.wiring().web == WebPlan("127.0.0.1", 8688)


def test_pages_listen_where_they_are_told(floor: Copy) -> None:
    assert floor.add('[web]\nbind = "::1"\nport = 80').wiring().web == WebPlan("::1", 80)


@pytest.mark.parametrize("line", ['bind = "meter.example"', "bind = 1", "port = 65536", 'port = "80"'])
def test_a_page_listens_on_an_address_and_a_port(floor: Copy, line: str) -> None:
    assert "floor.toml: [web] " in floor.add(f"[web]\n{line}").refused()


def test_a_line_has_usual_settings_unless_configured(floor: Copy) -> None:
    floor.add('[[line]]\nid = "l1"\ndevice = "hub-01"\nport = "/dev/meterd/hub-01"')
    serial = SerialSettings("/dev/meterd/hub-01", 115_200, 8, "N", 1)
    assert floor.wiring().lines == (LinePlan("l1", "hub-01", serial),)


def test_every_setting_of_a_line_is_configurable(floor: Copy) -> None:
    floor.add('[[line]]\nid = "l1"\ndevice = "hub-01"\nport = "tcp://192.0.2.1:4001"\nbaud = 9600\nbits = 7\n'
              'parity = "E"\nstop = 2')  # fmt: skip
    assert floor.wiring().lines[0].serial == SerialSettings("tcp://192.0.2.1:4001", 9600, 7, "E", 2)


LINE = '[[line]]\nid = "l1"\ndevice = "hub-01"\nport = "/dev/a"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LINE + LINE.replace("hub-01", "hub-02").replace("/dev/a", "/dev/b"), '[[line]] "l1" id: stands twice'),
        (LINE + LINE.replace("l1", "l2").replace("/dev/a", "/dev/b"), '"l2" device: "hub-01" has two lines'),
        (
            LINE + LINE.replace("l1", "l2").replace("hub-01", "hub-02"),
            '"l2" port: "/dev/a" is also that of [[line]] "l1"',
        ),
        (LINE.replace("hub-01", "hub-09"), '"l1" device: no table has the device "hub-09"'),
        (LINE.replace("/dev/a", "ttyUSB0"), '"l1" port: "ttyUSB0" is no port'),
        (LINE.replace("/dev/a", "tcp://host"), '"l1" port: "tcp://host" is no port'),
        (LINE.replace("/dev/a", "tcp://host:70000"), '"l1" port: "tcp://host:70000" is no port'),
        (LINE + "baud = 12", '"l1" baud: 12 is not allowed'),
        (LINE + 'parity = "X"', '"l1" parity: "X" is not a choice'),
        (LINE + "buad = 9600", '"l1" buad: unknown key; did you mean "baud"?'),
    ],
)
def test_a_line_that_cannot_work_is_refused(floor: Copy, text: str, said: str) -> None:
    assert said in floor.add(text).refused()


def test_a_table_whose_lamps_no_frame_can_carry_is_refused_on_a_line(floor: Copy) -> None:
    """PROTOCOL section 3: a frame is bounded; the unit would wait for its lamps for ever."""
    floor.change(FLOOR, "seats = 7", "seats = 64").change(
        FLOOR, "pay_order = [1, 2, 3, 4, 5, 6, 7]", f"pay_order = {list(range(1, 65))}")
    head, spot, tail = (floor.folder / FLOOR).read_text().rpartition('id = "progressive"')
    (floor.folder / FLOOR).write_text(head + spot.replace("progressive", "s" * 64) + tail)
    assert floor.wiring().lines == ()
    said = floor.add(LINE.replace("hub-01", "hub-03")).refused()
    assert 'what "hub-03" is told of its table is too long for a line; give its spots or outcomes shorter ids' in said


def test_a_broker_needs_only_a_host(floor: Copy) -> None:
    mqtt = floor.add('[mqtt]\nhost = "127.0.0.1"').wiring().mqtt
    assert mqtt is not None and (mqtt.port, mqtt.client_id, mqtt.tls) == (1883, "meterd-demo", False)


def test_a_broker_with_tls_has_its_own_usual_port(floor: Copy) -> None:
    mqtt = floor.add('[mqtt]\nhost = "broker"\ntls = true\nca_file = "ca.pem"').wiring().mqtt
    assert mqtt is not None and (mqtt.port, mqtt.ca_file) == (8883, floor.folder / "ca.pem")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('ca_file = "ca.pem"', "ca_file: has no meaning without TLS"),
        ('tls = true\ncert_file = "c.pem"', "cert_file: a certificate and its key go together"),
        ('password_file = "p"', "username: missing"),
        ("port = 0", "port: 0 is not allowed"),
        ('client_id = "a/b"', "client_id: "),
    ],
)
def test_a_broker_that_cannot_work_is_refused(floor: Copy, lines: str, said: str) -> None:
    assert f"floor.toml: [mqtt] {said}" in floor.add(f'[mqtt]\nhost = "broker"\n{lines}').refused()


@pytest.mark.parametrize(
    "lines",
    [f'host = "b"\npassword = "{MARK}"', f'host = "mqtt://meterd:{MARK}@broker"', f'host = "b"\npasword = "{MARK}"',
     f'host = "b"\nusername = "u"\npassword_file = ["{MARK}"]'],
)  # fmt: skip
def test_a_secret_never_appears_in_an_error(floor: Copy, lines: str) -> None:
    """CF-06: the key is named, the secret is not."""
    said = floor.add(f"[mqtt]\n{lines}").refused()
    assert "[mqtt]" in said and MARK not in said


def test_a_password_in_the_file_is_refused_by_name(floor: Copy) -> None:
    """CF-06."""
    floor.add(f'[mqtt]\nhost = "b"\npassword = "{MARK}"')
    assert floor.refused() == (
        "floor.toml: [mqtt] password: a secret may not stand in this file; name a file that holds it: password_file"
    )


def test_a_sign_at_a_table_shows_that_tables_meters(floor: Copy) -> None:
    sign = floor.add('[[sign]]\nid = "s"\nkind = "page"\ntable = "PG-03"').wiring().signs[0]
    assert (sign.kind, sign.meters, sign.digits, sign.serial) == (SignKind.PAGE, ("pg-solo",), 9, None)


def test_an_led_sign_has_the_usual_settings_of_its_kind(floor: Copy) -> None:
    """protocols/alpha-sign.md: 9600 baud, 7 bits, even parity."""
    sign = floor.add('[[sign]]\nid = "s"\nkind = "alpha"\nport = "/dev/s"\nmeters = ["pg-link"]').wiring().signs[0]
    assert (sign.serial, sign.checksum) == (SerialSettings("/dev/s", 9600, 7, "E", 1), True)


SIGN = '[[sign]]\nid = "s"\nkind = "page"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SIGN, "meters: missing; list 1 to 8 meter ids"),
        (SIGN + "meters = []", "meters: none, too many, or one twice"),
        (SIGN + 'meters = ["pg-lnk"]', 'meters: there is no meter "pg-lnk"; did you mean "pg-link"?'),
        (SIGN + 'table = "PG-9"', 'table: there is no table "PG-9"'),
        (SIGN + 'table = "PG-03"\nmeters = ["pg-link"]', 'meters: "pg-link" cannot be won at its table'),
        (SIGN + 'table = "PG-03"\nport = "/dev/s"', 'port: a sign of kind "page" has no serial port'),
        (SIGN + 'table = "PG-03"\ndigits = 3', "digits: 3 is not allowed"),
        (SIGN.replace("page", "alpha") + 'table = "PG-03"', "port: missing"),
        (SIGN.replace("page", "mqtt") + 'table = "PG-03"', "kind: there is no broker"),
        (SIGN.replace("page", "neon") + 'table = "PG-03"', 'kind: "neon" is not a choice'),
        ((SIGN + 'table = "PG-03"\n') * 2, "id: stands twice"),
        (LINE + SIGN.replace("page", "alpha") + 'table = "PG-03"\nport = "/dev/a"', 'port: "/dev/a" is also that of'),
    ],
)
def test_a_sign_that_cannot_work_is_refused(floor: Copy, text: str, said: str) -> None:
    assert f'floor.toml: [[sign]] "s" {said}' in floor.add(text).refused()
