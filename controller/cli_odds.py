"""``meterctl odds`` and ``meterctl simulate``: what a paytable is worth, and the life of its meter (docs/ODDS.md)."""

import json
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

import click

from controller.cli_game import Refused
from controller.game.classify import NotThisGame
from controller.game.odds import NONE, MeterOdds, Odds, odds_of
from controller.money import Rounding, format_cents, format_rate, parse_money
from controller.paytable_files import SHIPPED, load_table
from controller.plan import BelowSeed, Overflow, ReserveSurplus

_FOLDER = click.Path(path_type=Path, file_okay=False)


def _of_paytable(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="JSON, for machines"),
        click.option("--paytables", "folder", type=_FOLDER, default=SHIPPED, help="the folder of paytables"),
        click.option("--paytable", "name", required=True, help="id of the paytable, like progressive-1"),
    ):
        command = option(command)
    return command


def _odds(folder: Path, name: str) -> tuple[Odds, dict[str, str]]:
    """The odds of a paytable, and the printed labels of its rows."""
    table = load_table(folder, name)
    try:
        return odds_of(table), {prize.outcome: prize.label for prize in table.prizes}
    except NotThisGame as wrong:
        raise Refused(str(wrong)) from wrong


@click.command()
@_of_paytable
def odds(name: str, folder: Path, as_json: bool) -> None:
    """Exact odds of a paytable, computed over every hand: counts, return, house edge, and its meter's arithmetic."""
    found, labels = _odds(folder, name)
    click.echo(json.dumps(found.as_json(), indent=2) if as_json else odds_text(found, labels))


def odds_text(found: Odds, labels: dict[str, str]) -> str:
    """The odds as a table for people."""
    wide = max(len(label) for label in [*labels.values(), "No row"])
    lines = [f"{found.paytable}: {found.total:,} {'hands' if found.total < 10**12 else 'dealer / player pairs'}"]
    for outcome, count in found.counts.items():
        label = "No row" if outcome == NONE else labels[outcome]
        rarity = f"1 in {found.total / count:,.1f}" if count else "never"
        lines.append(f"  {label:<{wide}}  {count:>21,}  {float(found.chance(outcome)):>14.10%}  {rarity}")
    long_run = " in the long run" if found.meters else ""
    lines.append(f"Return{long_run} {float(found.returned):.4%}, house edge {float(1 - found.returned):.4%}.")
    if found.meters:
        lines.append(f"Return with the meter at its seed {float(found.at_seed):.4%}.")
    if found.break_even_cents is not None:
        lines.append(f"The return is 100% with the meter at {format_cents(round(found.break_even_cents))}.")
    for meter in found.meters:
        lines += _meter_lines(meter)
    if found.envy_cents:
        lines.append(f"Envy: {float(found.envy_cents):.4f} cents a hand for each other seat with a qualifying wager.")
    return "\n".join(lines)


def _meter_lines(meter: MeterOdds) -> list[str]:
    rates = f"rate {format_rate(meter.rate_ppm)}, reserve rate {format_rate(meter.reserve_ppm)}"
    lines = [f"Meter {meter.part}: seed {format_cents(meter.seed_cents)}, {rates}"]
    between, mean = meter.wagers_between_hits, meter.mean_cents
    if mean is not None:
        lines.append(f"  Long-run mean {format_cents(round(mean))}, its wager's contribution in it.")
    if between is not None:
        lines.append(f"  100% hit every {float(between):,.1f} wagers on average.")
    cost, house = float(meter.seed_cost) * 100, float(meter.house_seed_cost) * 100
    covered = (
        "covered by the reserve" if meter.reserve_ppm and not meter.house_seed_cost else f"the house's: {house:.4f}"
    )
    lines.append(f"  New seeds cost {cost:.4f} cents for each dollar wagered; {covered}.")
    return lines


def _choice(
    option: str, choices: type[StrEnum], default: StrEnum
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    words = click.Choice([member.value for member in choices])
    return click.option(option, type=words, default=default.value, show_default=True)


def _limit(_: click.Context, __: click.Parameter, written: str) -> int | None:
    try:
        return None if written == "none" else parse_money(written)
    except ValueError as wrong:
        raise click.BadParameter(str(wrong)) from wrong


@click.command()
@_of_paytable
@click.option("--wagers-per-day", "wagers_per_day", type=click.IntRange(1, 100_000_000), required=True)
@click.option("--years", type=click.IntRange(1, 1_000), required=True, help="of 365 days")
@click.option("--runs", type=click.IntRange(1, 100_000), required=True, help="independent lives")
@click.option(
    "--seed", "start", type=click.IntRange(0), required=True, help="of the random numbers; same seed, same lives"
)
@_choice("--below-seed", BelowSeed, BelowSeed.ALLOW)
@_choice("--reserve-surplus", ReserveSurplus, ReserveSurplus.KEEP)
@_choice("--rounding", Rounding, Rounding.UP)
@_choice("--overflow", Overflow, Overflow.NEXT_METER)
@click.option("--limit", callback=_limit, default="none", show_default=True, help='of the meter, like "$50,000.00"')
@click.option("--part", default=None, help="which meter, where the paytable has several")
@click.option(
    "--plot", "picture", type=click.Path(path_type=Path, dir_okay=False), default=None, help="an SVG to write"
)
def simulate(
    name: str, folder: Path, as_json: bool, part: str | None, picture: Path | None, start: int, **options: Any
) -> None:
    """The life of a meter over many wagers and runs: amounts at hit, days between hits, what the house must put in."""
    # numpy takes longer to load than most commands take to run: only this one needs it.
    from controller.game.life_report import life_json
    from controller.game.plot import lives_svg
    from controller.game.simulate import Policies, SimulationTooLong, Span
    from controller.game.simulate import simulate as play

    meter = _part(_odds(folder, name)[0], part)
    span = Span(options["wagers_per_day"], options["years"], options["runs"])
    policies = Policies(
        BelowSeed(options["below_seed"]),
        ReserveSurplus(options["reserve_surplus"]),
        Rounding(options["rounding"]),
        options["limit"],
        Overflow(options["overflow"]),
    )
    if policies.limit_cents is not None and policies.limit_cents <= meter.seed_cents:
        raise Refused(
            f"--limit {format_cents(policies.limit_cents)} must be above the seed, {format_cents(meter.seed_cents)}"
        )
    try:
        lives = play(meter, policies, span, start)
    except SimulationTooLong as wrong:
        raise Refused(f"{name}: {wrong}") from wrong
    found = {"paytable": name, "seed": start, **life_json(meter, policies, span, lives)}
    if picture is not None:
        try:
            picture.write_text(lives_svg(name, meter, span, lives), encoding="utf-8")
        except OSError as wrong:
            raise Refused(f"{picture}: cannot be written: {wrong.strerror}") from wrong
    click.echo(json.dumps(found, indent=2) if as_json else life_text(found))


def _part(found: Odds, part: str | None) -> MeterOdds:
    parts = {meter.part: meter for meter in found.meters}
    if not parts:
        raise Refused(f"{found.paytable} has no meter to simulate: take a progressive paytable")
    if part is None and len(parts) == 1:
        return found.meters[0]
    if part not in parts:
        raise Refused(f"--part: write one of {', '.join(parts)}")
    return parts[part]


def life_text(found: dict[str, Any]) -> str:
    """The figures of a simulation for people."""
    house, reserve = found["house"], found["reserve"]
    lines = [
        f"{found['paytable']}, meter {found['meter']}: {found['runs']:,} runs of {found['wagers_per_run']:,} wagers",
        f"  100% hits: {found['hits']:,}; runs without any: {found['runs_without_hit']:,}",
    ]
    if found["hits"]:
        lines += [
            f"  amount at hit: {_spread(found['amount_at_hit_cents'], format_cents)}",
            f"  days between hits: {_spread(found['days_between_hits'], '{:,.1f}'.format)}",
            f"  new seeds with house money: {house['seeds']:,} ({house['part_of_seeds']:.2%})",
            f"  new seeds paid by the reserve alone: {reserve['seeds_paid_whole']:,}",
        ]
    lines += [
        f"  house, new seeds, each run: {_spread(house['seed_cents_per_run'], format_cents)}",
        f"  house, raised to the seed, each run: {_spread(house['top_up_cents_per_run'], format_cents)}",
        f"  house, both: {house['per_dollar'] * 100:.4f} cents for each dollar wagered",
        f"  reserve at the end: {_spread(reserve['end_cents'], format_cents)}",
        f"  runs in which the reserve was always enough: {reserve['enough_in_runs']:,}",
        f"  wagers that found the meter under its seed: {found['below_seed_part_of_wagers']:.4%}",
    ]
    return "\n".join(lines)


def _spread(spread: dict[str, Any], word: Callable[[Any], str]) -> str:
    middle = f"half between {word(spread['p25'])} and {word(spread['p75'])}"
    return f"mean {word(spread['mean'])}, median {word(spread['median'])}, {middle}, greatest {word(spread['max'])}"
