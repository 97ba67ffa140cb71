"""``meterctl classify`` and ``meterctl settle``: what a hand is, and what a whole round is due (docs/GAME.md)."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, BinaryIO, TextIO

import click

from controller.game.cards import CardError, read_hand
from controller.game.classify import AceHigh, Classifier, NotThisGame, Verdict, classifier, named_hand
from controller.game.round_check import make_ready
from controller.game.round_form import ROUND_BYTES_MAX, RoundError, read_form
from controller.game.settle import settle as settle_round
from controller.money import format_cents
from controller.paytable_files import SHIPPED, load_table

LINE_BYTES_MAX = 1_000
"""A line longer than this is no hand: it is answered with an error, and the next line is read."""
_CHUNK = 64 * 1024

_FOLDER = click.Path(path_type=Path, file_okay=False)


class Refused(click.ClickException):
    """Input that is wrong: one line on standard error, exit code 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """The line itself, without click's heading."""
        click.echo(self.message, file=file, err=file is None)


@click.command()
@click.option("--paytable", "name", required=True, help="id of the paytable, like fortune-1")
@click.option("--paytables", "folder", type=_FOLDER, default=SHIPPED, help="the folder of paytables")
@click.option("--dealer", default=None, help="the dealer's seven cards (ace-high paytables)")
@click.option("--player", default=None, help="the player's seven cards (ace-high paytables)")
@click.option("--stdin", "from_stdin", is_flag=True, help="one hand a line, one JSON answer a line")
@click.option("--json", "as_json", is_flag=True, help="JSON, for machines")
@click.argument("hand", required=False)
def classify(
    name: str, folder: Path, dealer: str | None, player: str | None, from_stdin: bool, as_json: bool, hand: str | None
) -> None:
    """What HAND ("As Ks Qs Js Ts 9s 8s") is by a paytable; for ace-high two hands, the dealer's and the player's."""
    reader = _classifier(folder, name)
    if from_stdin:
        if hand is not None or dealer is not None or player is not None:
            raise click.UsageError("with --stdin the hands stand on standard input")
        classify_lines(reader, sys.stdin.buffer, sys.stdout)
        return
    try:
        cards, verdict = _one(reader, hand, dealer, player)
    except CardError as wrong:
        raise Refused(str(wrong)) from wrong
    if as_json:
        click.echo(json.dumps({"cards": cards, "paytable": reader.id, **verdict._asdict()}))
    else:
        click.echo(f"{verdict.label}: {verdict.best}" if verdict.outcome else "No row of the paytable.")


def _classifier(folder: Path, name: str) -> Classifier:
    try:
        return classifier(load_table(folder, name))
    except NotThisGame as wrong:
        raise Refused(str(wrong)) from wrong


def _one(reader: Classifier, hand: str | None, dealer: str | None, player: str | None) -> tuple[str, Verdict]:
    """The cards as written and what they are; raises CardError."""
    if isinstance(reader, AceHigh):
        if hand is not None or dealer is None or player is None:
            raise click.UsageError(f'{reader.id} is about two hands: write --dealer "..." --player "..."')
        verdict = reader.verdict(named_hand("dealer", dealer.split()), named_hand("player", player.split()))
        return f"{' '.join(dealer.split())} | {' '.join(player.split())}", verdict
    if hand is None or dealer is not None or player is not None:
        raise click.UsageError(f'{reader.id} is about one hand: write it like "As Ks Qs Js Ts 9s 8s"')
    return " ".join(hand.split()), reader.verdict(read_hand(hand))


def classify_lines(reader: Classifier, source: BinaryIO, out: TextIO) -> None:
    """Answer every line of hands; a wrong one is answered ``{"error": ...}`` and the next one is read."""
    answer = reader.answer
    for lines in _lines(source):
        answers = []
        for line in lines:
            try:
                answers.append(answer(line.decode("utf-8", "replace")))
            except CardError as wrong:
                answers.append(json.dumps({"error": str(wrong)}) + "\n")
        out.write("".join(answers))
        out.flush()


def _lines(source: BinaryIO) -> Iterator[list[bytes]]:
    """Whole lines as they arrive, cut at ``LINE_BYTES_MAX`` (which makes them no hand), many at a time."""
    rest = b""
    while chunk := _read(source):
        *lines, rest = (rest + chunk).split(b"\n")
        rest = rest[: LINE_BYTES_MAX + 1]
        yield [line[:LINE_BYTES_MAX] for line in lines]
    if rest:
        yield [rest[:LINE_BYTES_MAX]]


def _read(source: BinaryIO) -> bytes:
    """What has arrived, without waiting for more; empty at the end."""
    read1 = getattr(source, "read1", None)
    found: bytes = read1(_CHUNK) if read1 is not None else source.read(_CHUNK)
    return found


@click.command()
@click.option("--paytables", "folder", type=_FOLDER, default=SHIPPED, help="the folder of paytables")
@click.option("--json", "as_json", is_flag=True, help="JSON, for machines")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
def settle(folder: Path, as_json: bool, file: Path) -> None:
    """Settle a whole round, FILE (- for standard input): every wager, envy, meter shares, the maximum payout."""
    try:
        source = sys.stdin.buffer if str(file) == "-" else file.open("rb")
        with source:
            form = read_form(source.read(ROUND_BYTES_MAX + 1))
        told = settle_round(make_ready(form, lambda name: load_table(folder, name)))
    except OSError as wrong:
        raise Refused(f"{file}: cannot be read: {wrong.strerror}") from wrong
    except RoundError as wrong:
        raise Refused("\n".join(f"{file}: {line}" for line in str(wrong).splitlines())) from wrong
    click.echo(json.dumps(told, indent=2) if as_json else _round_words(told))


def _round_words(told: Mapping[str, Any]) -> str:
    """A line for each wager and envy, and each seat's total."""
    dealer = told["dealer"]
    lines = [f"Dealer: high {dealer['high']}, low {dealer['low']}{', ace high' if dealer['ace_high'] else ''}"]
    for seat in told["seats"]:
        lines.append(f"Seat {seat['seat']}: {format_cents(seat['totals']['handed_cents'])} to the player")
        lines += [_wager_words(wager) for wager in seat["wagers"]]
        lines += [_envy_words(entry) for entry in seat["envy"]]
    for part, meter in told["meters"].items():
        lines.append(f"Meter {part}: {format_cents(meter['paid_cents'])} awarded")
    totals = told["totals"]
    return "\n".join([*lines, f"All seats: {format_cents(totals['handed_cents'])}"])


def _envy_words(entry: Mapping[str, Any]) -> str:
    hand = f"{entry['outcome']} at seat {entry['from_seat']}"
    return f"  envy ({entry['wager']}): {format_cents(entry['cents'])} for {hand}"


def _wager_words(wager: Mapping[str, Any]) -> str:
    words = [f"  {wager['wager'].replace('_', ' ')} {format_cents(wager['wager_cents'])}: {wager['result']}"]
    if wager["label"] or wager["best"]:
        words.append(", ".join(word for word in (wager["label"], wager["best"]) if word))
    words.append(f"pays {format_cents(wager['pay_cents'])}, wager back {format_cents(wager['returned_cents'])}")
    words += [f"{format_cents(cents)} of meter {part}" for part, cents in wager["meters"].items()]
    if wager["cap_took_cents"]:
        words.append(f"the maximum payout took {format_cents(wager['cap_took_cents'])}")
    return "; ".join(words)
