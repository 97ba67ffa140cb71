"""How ``meterctl`` finds the running daemon: over TLS or not, by its own certificate or the site's authority."""

import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_house import SECRET, CliHouse, certificate
from click.testing import CliRunner, Result
from floor_files import FLOOR, contract_floor
from people_house import PeopleHouse, PeopleServed

from controller.cli import main
from controller.demo import free_port
from controller.web.serve import TlsFiles
from controller.wiring import WebPlan

ASKING = ("meters", "tables", "log", "wins", "signs")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CliHouse]:
    made = CliHouse(tmp_path_factory.mktemp("floor"))
    yield made
    made.end()


def meterctl(*words: object, said: str = "") -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], input=said)


# ---------------------------------------------------------------------- TLS


@pytest.mark.parametrize("command", ASKING)
def test_a_daemon_that_speaks_tls_is_asked_by_its_configuration(house: CliHouse, command: str) -> None:
    made = house.bare(command, "--config", house.config)
    assert made.exit_code == 0, made.output


def test_the_certificate_may_be_named_beside_the_address(house: CliHouse) -> None:
    made = house.bare("tables", "--url", f"https://127.0.0.1:{house.port}/", "--ca", house.cert)
    assert made.exit_code == 0, made.output


def test_a_certificate_that_nobody_has_named_is_not_trusted(house: CliHouse) -> None:
    made = house.bare("tables", "--url", f"https://127.0.0.1:{house.port}")
    assert (made.exit_code, "its certificate is not known here: give --config FILE" in made.output) == (2, True)


def test_another_certificate_for_the_same_name_is_not_taken(house: CliHouse, tmp_path: Path) -> None:
    """Whoever has taken the daemon's port has not its key; no secret is sent there."""
    other = certificate(tmp_path)
    made = house.bare("tables", "--url", f"https://127.0.0.1:{house.port}", "--ca", other)
    assert (made.exit_code, "certificate" in made.output) == (2, True)
    shutil.copytree(house.folder / "paytables", tmp_path / "paytables")
    (tmp_path / FLOOR).write_text(house.config.read_text())
    before = house.entries("signed-in")
    made = meterctl("act", "--config", tmp_path / FLOOR, "--as", "anna", "--secret-stdin", "table-opened",
                    "table=PG-01", said=f"{SECRET}\n")
    assert (made.exit_code, "certificate" in made.output, house.entries("signed-in")) == (2, True, before)


def test_plain_http_to_a_port_that_speaks_tls_is_told_what_to_do(house: CliHouse) -> None:
    made = house.bare("tables", "--url", f"http://127.0.0.1:{house.port}")
    assert (made.exit_code, "if its [web] has a tls_cert, give --config FILE" in made.output) == (2, True)


def test_tls_to_a_port_that_speaks_plain_http_is_told_what_to_do(tmp_path: Path) -> None:
    server = PeopleServed(PeopleHouse(), tmp_path)
    try:
        made = meterctl("tables", "--url", f"https://127.0.0.1:{server.port}")
        assert (made.exit_code, "it seems not to speak TLS" in made.output) == (2, True)
    finally:
        server.stop()


def test_a_certificate_of_the_sites_authority_is_trusted_for_its_name_only(tmp_path: Path) -> None:
    authority = certificate(tmp_path, "authority", "-addext", "basicConstraints=critical,CA:TRUE")
    page = tmp_path / "signed.pem"
    asked = tmp_path / "asked.csr"
    names = tmp_path / "names"
    names.write_text("subjectAltName=DNS:localhost\n")
    subprocess.run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-subj", "/CN=localhost", "-keyout", tmp_path / "signed.key", "-out", asked],
                   check=True, capture_output=True)
    subprocess.run(["openssl", "x509", "-req", "-in", asked, "-CA", authority, "-CAkey",
                    authority.with_suffix(".key"), "-CAcreateserial", "-days", "5", "-extfile", names, "-out", page],
                   check=True, capture_output=True)
    tls = TlsFiles(page, page.with_suffix(".key"))
    server = PeopleServed(PeopleHouse(WebPlan("127.0.0.1", 0, tls_cert=tls.cert, tls_key=tls.key)), tmp_path, tls)
    try:
        good = meterctl("tables", "--url", f"https://localhost:{server.port}", "--ca", authority)
        assert good.exit_code == 0, good.output
        wrong = meterctl("tables", "--url", f"https://127.0.0.1:{server.port}", "--ca", authority)
        assert (wrong.exit_code, "the name that it is certified for" in wrong.output) == (2, True)
    finally:
        server.stop()


# ---------------------------------------------------------------------- where


@pytest.mark.parametrize(("bind", "asked"), [("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("127.0.0.1", "127.0.0.1")])
def test_a_daemon_that_listens_everywhere_is_asked_on_this_box(tmp_path: Path, bind: str, asked: str) -> None:
    port = free_port()
    contract_floor(tmp_path).add(f'[web]\nbind = "{bind}"\nport = {port}')
    made = meterctl("tables", "--config", tmp_path / FLOOR)
    assert (made.exit_code, f"no daemon answers at http://{asked}:{port}/" in made.output) == (2, True), made.output


@pytest.mark.parametrize("url", [
    "127.0.0.1:8688", "ftp://127.0.0.1", "http://", "http://name:secret@127.0.0.1", "http://127.0.0.1/pages",
    "http://127.0.0.1:port", "http://[", "http://127.0.0.1?x"])
def test_an_address_that_is_none_is_a_usage_error(url: str) -> None:
    made = meterctl("tables", "--url", url)
    assert (made.exit_code, "write it as http://host:port" in made.output) == (2, True), made.output


def test_a_file_that_is_no_certificate_is_named(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing")
    made = meterctl("tables", "--url", "https://127.0.0.1:9", "--ca", tmp_path / "ca.pem")
    assert (made.exit_code, "no certificate can be read there" in made.output) == (2, True)
    plain = meterctl("tables", "--ca", tmp_path / "ca.pem")
    assert (plain.exit_code, "--ca has no meaning" in plain.output) == (2, True)


def test_no_proxy_of_the_environment_comes_between(house: CliHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret goes to the daemon and to nobody else."""
    for name in ("http_proxy", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert house.bare("tables", "--config", house.config).exit_code == 0


# ---------------------------------------------------------------------- who asks


def test_who_has_asked_is_signed_out_again(house: CliHouse) -> None:
    for _ in range(2):
        assert house.asks("alarms", "anna").exit_code == 0
    assert house.entries("signed-in") == house.entries("signed-out") > 1


@pytest.mark.parametrize("words", [("alarms",), ("config", "proposals"), ("act", "table-opened", "table=PG-01"),
                                   ("token", "make", "x1", "--scope", "read", "--days", "1"), ("secret",)])
def test_what_people_see_or_do_asks_who_it_is(house: CliHouse, words: tuple[str, ...]) -> None:
    made = house.bare(*words, "--config", house.config)
    assert (made.exit_code, "give --as NAME" in made.output) == (2, True), made.output


def test_a_wrong_secret_is_refused_in_the_daemons_words(house: CliHouse) -> None:
    made = house.asks("alarms", "anna", secrets="not the secret at all\n")
    assert (made.exit_code, made.output.strip()) == (2, "Not done: name or secret is wrong; type both again")


def test_a_closed_floor_page_is_read_by_whoever_signs_in(tmp_path: Path) -> None:
    server = PeopleServed(PeopleHouse(WebPlan("127.0.0.1", 0, open_floor_page=False)), tmp_path)
    try:
        assert "nobody is signed in" in meterctl("tables", "--url", server.url).output
        made = meterctl("tables", "--url", server.url, "--as", "anna", "--secret-stdin", said=f"{SECRET}\n")
        assert made.exit_code == 0, made.output
        new = f"{SECRET}\nfour new words here\n"
        assert meterctl("secret", "--url", server.url, "--as", "anna", "--secret-stdin", said=new).exit_code == 0
    finally:
        server.stop()


# ---------------------------------------------------------------------- tokens and secrets


def test_a_token_is_written_into_a_file_of_ones_own(house: CliHouse, tmp_path: Path) -> None:
    out, taken = tmp_path / "token", tmp_path / "taken"
    taken.write_text("mine")
    words = ("--scope", "read", "--days", "1")
    assert house.asks("token make", "anna", "by-file", *words, "--out", str(taken)).exit_code == 2
    made = house.asks("token make", "anna", "by-file", *words, "--out", str(out))
    token = out.read_text().strip()
    assert (made.exit_code, token in made.output, taken.read_text()) == (0, False, "mine"), made.output
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    by_token = ("--config", house.config, "--token-file", out)
    assert house.bare("alarms", *by_token).exit_code == 0
    assert "may only read" in house.bare("act", *by_token, "table-opened", "table=PG-01").output
    assert house.bare("token", "make", "another", *words, *by_token).exit_code == 2


def test_a_token_is_all_that_stands_on_standard_output(house: CliHouse) -> None:
    made = house.asks("token make", "anna", "by-pipe", "--scope", "read", "--days", "1")
    assert re.fullmatch(r"by-pipe\.[0-9a-f]{64}\n", made.stdout)


def test_a_first_secret_of_two_halves_is_changed_at_the_box(house: CliHouse) -> None:
    words = ("--full-name", "Zoe", "--role", "supervisor", "--department", "security")
    halves = [re.findall(r"half of the first secret of zoe: (\S+)", house.asks(*asked).stdout) for asked in (
        ("user propose", "mona", "zoe", *words), ("user enable", "dora", "zoe"))]
    first = "-".join(half for found in halves for half in found)
    must = house.asks("alarms", "zoe", secrets=f"{first}\n")
    assert (must.exit_code, "the secret must be changed first" in must.output) == (2, True)
    made = house.asks("secret", "zoe", secrets=f"{first}\nfour new words here\n")
    assert made.exit_code == 0, made.output
    assert house.asks("alarms", "zoe", secrets="four new words here\n").exit_code == 0


@pytest.mark.parametrize(("typed", "said"), [
    ("no such secret here\nfour new words here\n", "name or secret is wrong"),
    (f"{SECRET}\nshort\n", "choose another new secret"), (f"{SECRET}\n{SECRET}\n", "the new secret is the old one")])
def test_a_secret_is_changed_by_who_knows_the_present_one_and_to_a_good_one(
    house: CliHouse, typed: str, said: str
) -> None:
    made = house.asks("secret", "gus", secrets=typed)
    assert (made.exit_code, said in made.output) == (2, True), made.output
    assert "four new words" not in made.output and SECRET not in made.output
