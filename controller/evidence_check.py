"""Whether an archive of evidence holds, by itself: on another machine, without the ledger (D16, R-60, R-78). Pure.

Hashes are recomputed from the columns, entries that adjoin must name one another, postings must sum to zero and
continue the balances before them, and each meter asked about is added up again from its last reset. ``check`` is given
an open archive; nothing of it is unpacked to a disk, unknown names are refused, every size is bounded. docs/EVIDENCE.md
"""

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import IO, Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from controller.floor_state import ACCOUNTS
from controller.ledger.chain import START, link
from controller.money import MICROCENTS_PER_CENT

FORMAT = "meterd-evidence"
VERSION = 1
MIB = 1024 * 1024
SIZES: Mapping[str, int] = {
    "README.txt": MIB, "record.txt": 64 * MIB, "entries.jsonl": 16_384 * MIB, "config.jsonl": 256 * MIB,
    "history.jsonl": 16_384 * MIB, "programs.json": 16 * MIB, "manifest.json": 4 * MIB, "seal.txt": 1_000,
}
"""The members of an archive in their order, and the most bytes of each."""
LINE_MAX = 16 * MIB
WRONG_MAX = 20
"""So many things that are wrong are listed; more make no difference."""
GAMES_MAX = 100_000
ACCOUNTS_MAX = 70_000
"""Games and accounts that are followed at a time."""
INSIDE = ("display", "reserve", "overflow")
OPENINGS = ("opening", "opening-accepted")
_NEVER_BELOW_0 = frozenset((*INSIDE, "pending"))
_CHUNK = 1 * MIB
_TEXT = (str, type(None))
_NUMBER = (int, type(None))
COLUMNS: Mapping[str, tuple[type, ...]] = {
    "book": (str,), "number": (int,), "at": (int,), "kind": (str,), "table": _TEXT, "game": _NUMBER, "device": _TEXT,
    "boot": _TEXT, "seq": _NUMBER, "rules": (int,), "body": (str,), "previous": (str,), "hash": (str,),
    "postings": (list,),
}
"""An entry in an archive: the ledger's columns, hashes in hex, and its postings."""
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)
_UNREADABLE = (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)
"""What a damaged archive makes the standard library raise."""


class BadEvidence(Exception):
    """An archive that does not hold: what is wrong, one line each (exit code 1)."""

    def __init__(self, *wrong: str) -> None:
        self.wrong = [shown(what, 300) for what in wrong]
        super().__init__("\n".join(self.wrong))


class ReAdded(NamedTuple):
    """One meter added up again from the archive alone, in microcents."""

    meter: str
    since: int
    until: int
    start: int
    """Display, reserve and overflow together after the entry that reset the meter."""
    contributed: int
    house: int
    awarded: int
    end: int


class Checked(NamedTuple):
    """What was proved of an archive."""

    manifest: Mapping[str, Any]
    entries: int
    whole: bool
    """Every entry up to the head is there: the chain is proved without the ledger."""
    meters: tuple[ReAdded, ...]
    hashes: Mapping[int, str]
    """Without the whole: the hash of the last entry of each run, by number, to be compared with the ledger."""


class _Wrong:
    """What is wrong so far."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, what: str) -> None:
        if len(self.found) < WRONG_MAX:
            self.found.append(what)

    def stop(self, what: str) -> BadEvidence:
        return BadEvidence(*self.found, what)


def check(archive: ZipFile) -> Checked:
    """Prove an archive; raises BadEvidence with everything that is wrong (at most ``WRONG_MAX`` lines)."""
    wrong = _Wrong()
    members = _members(archive)
    raw = _small(archive, members["manifest.json"])
    seal = _small(archive, members["seal.txt"])
    if seal != seal_of(raw):
        wrong.add("manifest.json: it is not what seal.txt was made of")
    manifest = _manifest(raw)
    configs: dict[int, str] = {}
    for line in _lines(archive, members["config.jsonl"], manifest, wrong):
        _check_config(line, configs, wrong)
    walk = _Walk(manifest, configs, wrong)
    for line in _lines(archive, members["entries.jsonl"], manifest, wrong):
        walk.entry(line)
    for name in ("README.txt", "record.txt", "history.jsonl", "programs.json"):
        _sum_of(archive, members[name], manifest, wrong)
    made = walk.finish()
    if wrong.found:
        raise BadEvidence(*wrong.found)
    return made


def seal_of(manifest: bytes) -> bytes:
    """The seal of a manifest: its SHA-256 in the form of ``sha256sum``."""
    return f"{sha256(manifest).hexdigest()}  manifest.json\n".encode()


# ---------------------------------------------------------------------- the archive


def _members(archive: ZipFile) -> dict[str, ZipInfo]:
    infos = archive.infolist()
    names = [info.filename for info in infos]
    if names != list(SIZES):
        strange = sorted({shown(name) for name in names} - SIZES.keys())
        missing = sorted(SIZES.keys() - set(names))
        what = f"it has {strange[0]}" if strange else f"{missing[0]} is missing" if missing else "members stand twice"
        raise BadEvidence(f"the archive is none of evidence, or was changed: {what}")
    for info in infos:
        if info.flag_bits & 1 or info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise BadEvidence(f"{info.filename}: packed in a way that evidence never is")
        if info.file_size > SIZES[info.filename]:
            raise BadEvidence(f"{info.filename}: {info.file_size:,} bytes, more than evidence ever has")
    return {info.filename: info for info in infos}


def _small(archive: ZipFile, info: ZipInfo) -> bytes:
    try:
        with archive.open(info) as file:
            return file.read(SIZES[info.filename])
    except _UNREADABLE as broken:
        raise BadEvidence(f"{info.filename}: damaged: {broken}") from broken


def _manifest(raw: bytes) -> dict[str, Any]:
    made = _json(raw, "manifest.json")
    forms: dict[str, type] = {
        "format": str, "version": int, "book": str, "first": int, "previous": str, "head": dict, "whole": bool,
        "runs": list, "meters": list, "members": dict, "asked": dict}
    for name, form in forms.items():
        if type(made.get(name)) is not form:
            raise BadEvidence(f"manifest.json: {name} is missing or of the wrong form")
    if made["format"] != FORMAT or made["version"] != VERSION:
        raise BadEvidence(f"manifest.json: version {made['version']} of {shown(made['format'])} is unknown here")
    head = made["head"]
    good = type(head.get("number")) is int and _is_hash(head.get("hash")) and _is_hash(made["previous"])
    good = good and all(_is_run(run) for run in made["runs"]) and all(_is_meter(meter) for meter in made["meters"])
    if not good or set(made["members"]) != SIZES.keys() - {"manifest.json", "seal.txt"}:
        raise BadEvidence("manifest.json: head, runs, meters or members are of the wrong form")
    return made


def _is_hash(found: object) -> bool:
    return isinstance(found, str) and _HASH.fullmatch(found) is not None


def _is_run(found: object) -> bool:
    return isinstance(found, list) and len(found) == 2 and all(type(number) is int for number in found)


def _is_meter(found: object) -> bool:
    return isinstance(found, dict) and type(found.get("meter")) is str and all(
        type(found.get(name)) is int for name in ("since", "until", "start", "contributed", "house", "awarded", "end"))


def _json(raw: bytes, where: str) -> dict[str, Any]:
    """One JSON object; a name that stands twice, a fraction or a wrong form is refused."""
    try:
        made = json.loads(raw, object_pairs_hook=_once, parse_float=_no_fraction, parse_constant=_no_fraction)
    except (ValueError, RecursionError) as broken:
        raise BadEvidence(f"{where}: cannot be read: {broken}") from broken
    if not isinstance(made, dict):
        raise BadEvidence(f"{where}: not an object")
    return made


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name stands twice")
    return made


def _no_fraction(text: str) -> int:
    raise ValueError(f"a number that is not whole: {text[:40]}")


def _lines(archive: ZipFile, info: ZipInfo, manifest: Mapping[str, Any], wrong: _Wrong) -> Iterator[dict[str, Any]]:
    """The objects of a member, line by line, and its hash in the end."""
    digest, size, number = sha256(), 0, 0
    try:
        with archive.open(info) as file:
            while raw := file.readline(LINE_MAX):
                number += 1
                digest.update(raw)
                size += len(raw)
                yield _json(raw, f"{info.filename} line {number}")
    except _UNREADABLE as broken:
        raise wrong.stop(f"{info.filename}: damaged after line {number}: {broken}") from broken
    except BadEvidence as bad:
        raise wrong.stop(str(bad)) from bad
    _compare(info.filename, size, digest.hexdigest(), manifest, wrong)


def _sum_of(archive: ZipFile, info: ZipInfo, manifest: Mapping[str, Any], wrong: _Wrong) -> None:
    try:
        with archive.open(info) as file:
            size, digest = digest_of(file)
    except _UNREADABLE as broken:
        raise wrong.stop(f"{info.filename}: damaged: {broken}") from broken
    _compare(info.filename, size, digest, manifest, wrong)


def digest_of(file: IO[bytes]) -> tuple[int, str]:
    """Bytes and SHA-256 of a stream, read in pieces."""
    digest, size = sha256(), 0
    while piece := file.read(_CHUNK):
        digest.update(piece)
        size += len(piece)
    return size, digest.hexdigest()


def _compare(name: str, size: int, digest: str, manifest: Mapping[str, Any], wrong: _Wrong) -> None:
    if manifest["members"][name] != {"bytes": size, "sha256": digest}:
        wrong.add(f"{name}: it is not what manifest.json was made of")


def shown(text: object, most: int = 60) -> str:
    """Foreign text in one short printable line."""
    return "".join(mark if " " <= mark <= "~" else "?" for mark in str(text)[:most])


# ---------------------------------------------------------------------- entries


def hash_of(line: Mapping[str, Any]) -> str:
    """The hash of an entry from its columns and postings, in hex (docs/LEDGER.md, section 4)."""
    return link(
        bytes.fromhex(line["previous"]), line["book"], line["number"], line["at"], line["kind"], line["table"],
        line["game"], line["device"], line["boot"], line["seq"], line["rules"], line["body"], line["postings"]).hex()


def _check_form(line: Mapping[str, Any]) -> str:
    """Why a line is no entry, or empty."""
    if set(line) != COLUMNS.keys():
        return "its columns are not those of an entry"
    if any(type(line[name]) not in forms for name, forms in COLUMNS.items()):
        return "a column is of the wrong form"
    if not _is_hash(line["previous"]) or not _is_hash(line["hash"]):
        return "a hash is of the wrong form"
    for posting in line["postings"]:
        if not isinstance(posting, list) or [type(part) for part in posting] != [str, str, int, int]:
            return "a posting is of the wrong form"
    try:
        json.dumps(line, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "a text that is none"
    return ""


def _check_config(line: Mapping[str, Any], configs: dict[int, str], wrong: _Wrong) -> None:
    why = _check_form(line)
    if why or line["kind"] != "config":
        raise BadEvidence(f"config.jsonl: {why or 'an entry that is no configuration'}")
    where = f"config.jsonl, entry {line['number']}"
    if hash_of(line) != line["hash"]:
        wrong.add(f"{where}: its content does not match its hash")
    _check_document(line, where, wrong)
    configs[line["number"]] = line["hash"]


def _check_document(line: Mapping[str, Any], where: str, wrong: _Wrong) -> None:
    """A configuration is named by the hash of its document."""
    body = _json(line["body"].encode(), where)
    text = json.dumps(body.get("document"), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if body.get("hash") != sha256(text.encode("utf-8", "surrogatepass")).hexdigest():
        wrong.add(f"{where}: the configuration does not match its own hash")


class _Walk:
    """Goes through the entries of an archive in their order."""

    def __init__(self, manifest: Mapping[str, Any], configs: Mapping[int, str], wrong: _Wrong) -> None:
        self._manifest, self._configs, self._wrong = manifest, configs, wrong
        self._number = self._count = 0
        self._hash = ""
        self._runs: list[list[int]] = []
        self._hashes: dict[int, str] = {}
        self._balances: dict[tuple[str, str], int] = {}
        self._games: dict[tuple[str, int], _Game] = {}
        """Games whose lock-out has been seen."""
        self._meters = {told["meter"]: MeterSum(told["meter"], told["since"], told["until"])
                        for told in manifest["meters"]}

    def entry(self, line: Mapping[str, Any]) -> None:
        """One entry more; raises BadEvidence for one that has no form of an entry."""
        why = _check_form(line)
        if why:
            raise self._wrong.stop(f"entries.jsonl, after entry {self._number}: {why}")
        self._count += 1
        self._link(line)
        touched = {(posting[0], account) for posting in line["postings"] for account in INSIDE}
        before = {key: self._balances[key] for key in touched if key in self._balances}
        self._post(line)
        if line["kind"] == "config":
            self._config(line)
        body = _json(line["body"].encode(), f"entry {line['number']}")
        for meter in self._meters.values():
            for what in meter.take(line, body):
                self._bad(line, what)
        self._game(line, body, before)

    def _bad(self, line: Mapping[str, Any], what: str) -> None:
        self._wrong.add(f"entry {line['number']}: {what}")

    def _link(self, line: Mapping[str, Any]) -> None:
        number = line["number"]
        if line["book"] != self._manifest["book"]:
            self._bad(line, "it is of another book")
        if hash_of(line) != line["hash"]:
            self._bad(line, "its content does not match its hash")
        if self._count == 1:
            if number != self._manifest["first"] or line["previous"] != self._manifest["previous"]:
                self._bad(line, "it is not the first one that manifest.json names")
            if number == 1 and line["previous"] != START.hex():
                self._bad(line, "the first entry of a book follows none")
        elif number <= self._number:
            self._bad(line, f"it stands after entry {self._number}")
        if self._count > 1 and number == self._number + 1:
            if line["previous"] != self._hash:
                self._bad(line, "it does not name the hash of the entry before it")
            self._runs[-1][1] = number
        else:
            if self._runs:
                self._hashes[self._number] = self._hash
            self._runs.append([number, number])
            self._forget(number)
        self._number, self._hash = number, line["hash"]

    def _forget(self, number: int) -> None:
        """After a gap only the meters asked about are known: every entry that moves them is there."""
        known = {name for name, meter in self._meters.items() if meter.since < number <= meter.until}
        self._balances = {key: balance for key, balance in self._balances.items() if key[0] in known}
        self._games.clear()

    def _post(self, line: Mapping[str, Any]) -> None:
        sums: dict[str, int] = {}
        for meter, account, microcents, balance in line["postings"]:
            sums[meter] = sums.get(meter, 0) + microcents
            if account not in ACCOUNTS:
                self._bad(line, f"{shown(account)} is no account")
                continue
            known = self._balances.get((meter, account), 0 if self._runs == [[1, line["number"]]] else None)
            if known is not None and known + microcents != balance:
                self._bad(line, f"the balance of {meter} {account} is {balance}, but the entries before make "
                                f"{known + microcents}")
            if balance < 0 and account in _NEVER_BELOW_0:
                self._bad(line, f"the balance of {meter} {account} is below zero")
            self._balances[meter, account] = balance
        if len(self._balances) > ACCOUNTS_MAX:
            raise self._wrong.stop(f"entry {line['number']}: more meters than a book ever has")
        for meter, total in sums.items():
            if total:
                self._bad(line, f"its postings for {meter} do not sum to zero but to {total} microcents")

    def _config(self, line: Mapping[str, Any]) -> None:
        _check_document(line, f"entry {line['number']}", self._wrong)
        if self._configs.get(line["number"], line["hash"]) != line["hash"]:
            self._bad(line, "config.jsonl has another configuration of this number")

    def _game(self, line: Mapping[str, Any], body: Mapping[str, Any], before: Mapping[tuple[str, str], int]) -> None:
        """What an entry tells of a settlement is what its postings did (MO-10)."""
        key = (line["table"] or "", line["game"] or 0)
        if line["kind"] == "lock" and line["game"] is not None:
            if len(self._games) >= GAMES_MAX:
                del self._games[next(iter(self._games))]
            self._games[key] = _Game()
        told = body.get("told", body)
        if not isinstance(told, dict) or "settled" not in told or "awards" not in told:
            return
        try:
            self._settlement(line, key, told, before)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            self._bad(line, "what it tells of the settlement has not the form of one")

    def _settlement(
        self, line: Mapping[str, Any], key: tuple[str, int], told: Mapping[str, Any],
        before: Mapping[tuple[str, str], int],
    ) -> None:
        game = self._games.get(key)
        for meter, settled in told["settled"].items():
            first = game is not None and meter not in game.meters and not settled["apart"]
            for at, account in enumerate(INSIDE):
                now, was = self._balances.get((meter, account)), before.get((meter, account))
                if now is not None and settled["to"][at] != now:
                    self._bad(line, f"it tells that {meter} {account} was left at {settled['to'][at]}, it is {now}")
                if first and was is not None and settled["from"][at] != was:
                    self._bad(line, f"it tells that {meter} {account} was found at {settled['from'][at]}, it was {was}")
            if game is not None:
                game.meters.add(meter)
        cents = sum(sum(award["meters"].values()) for award in told["awards"])
        moved = sum(microcents for _, account, microcents, _ in line["postings"] if account == "pending")
        if game is not None:
            if moved != (cents - game.cents) * MICROCENTS_PER_CENT:
                self._bad(line, "what it tells of the awards is not what its postings lay on pending")
            game.cents = cents

    def finish(self) -> Checked:
        """What stands after the last entry."""
        manifest, wrong = self._manifest, self._wrong
        head, last = manifest["head"], [self._number, self._hash]
        if not self._count:
            raise wrong.stop("entries.jsonl: it is empty")
        if last != [head["number"], head["hash"]]:
            wrong.add(f"entries.jsonl: it ends with entry {self._number}, not with the head that manifest.json names")
        if self._runs != manifest["runs"] or manifest["whole"] != (len(self._runs) == 1):
            wrong.add("entries.jsonl: entries are missing or there are more than manifest.json names")
        made = [meter.made() for meter in self._meters.values()]
        if [one and one._asdict() for one in made] != manifest["meters"]:
            wrong.add("the meters, added up from their resets, are not as manifest.json tells")
        meters = tuple(one for one in made if one is not None)
        return Checked(manifest, self._count, manifest["whole"], meters, self._hashes | {self._number: self._hash})


class _Game:
    """A game from its lock-out on: the cents of all its awards from meters, and the meters that it took from."""

    __slots__ = ("cents", "meters")

    def __init__(self) -> None:
        self.cents = 0
        self.meters: set[str] = set()


class MeterSum:
    """Adds one meter up from the entry that reset it, by postings alone (R-60)."""

    def __init__(self, meter: str, since: int, until: int) -> None:
        self.name, self.since, self.until = meter, since, until
        self._start: list[int] | None = None
        self._stands = [0, 0, 0]
        self._sums = dict.fromkeys(ACCOUNTS, 0)

    def take(self, line: Mapping[str, Any], body: Mapping[str, Any]) -> list[str]:
        """One entry: the one that it starts from, or one after it; what does not add up."""
        wrong = []
        if line["number"] == self.since:
            self._start = start_of(self.name, line, body)
            self._stands = list(self._start or self._stands)
        elif self.since < line["number"] <= self.until:
            for meter, account, microcents, balance in line["postings"]:
                if meter != self.name or account not in self._sums:
                    continue
                self._sums[account] += microcents
                if account in INSIDE:
                    place = INSIDE.index(account)
                    self._stands[place] += microcents
                    if self._stands[place] != balance:
                        wrong.append(f"{meter} {account} is {balance}, but added up from entry {self.since} on it is "
                                     f"{self._stands[place]}")
        return wrong

    def made(self) -> ReAdded | None:
        """The sums; None when the entry that it starts from was not there or reset no such meter."""
        sums = self._sums
        return None if self._start is None else ReAdded(
            self.name, self.since, self.until, sum(self._start), -sums["players"], -sums["house"],
            sums["pending"] + sums["paid"], sum(self._stands))


def start_of(meter: str, line: Mapping[str, Any], body: Mapping[str, Any]) -> list[int] | None:
    """Display, reserve and overflow after an entry that reset a meter; None when it did not."""
    if line["kind"] in OPENINGS:
        moved = [posting for posting in line["postings"] if posting[0] == meter]
        return [sum(posting[2] for posting in moved if posting[1] == account) for account in INSIDE] if moved else None
    told = body.get("told", body)
    try:
        display, reserve, overflow = told["settled"][meter]["to"]
        return [int(display), int(reserve), int(overflow)]
    except (KeyError, TypeError, ValueError):
        return None
