"""A printed slip from a game's file: each copy that an act has issued, as the award was when it was issued (R-58)."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from controller import award
from controller.award_lives import ActDone
from controller.game_file import AwardFile, EnvyDue, GameFile, Printed
from controller.money import format_cents
from controller.slip import EnvyPaid, Override, Paper, Slip, SlipState, Step

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STATE = {
    award.PENDING: SlipState.TO_PAY, award.VERIFIED: SlipState.TO_PAY, award.RELEASED: SlipState.TO_PAY,
    award.PAID: SlipState.PAID, award.TRAY: SlipState.PAID, award.REFUSED: SlipState.REFUSED,
    award.WITHDRAWN: SlipState.WITHDRAWN, award.IN_ERROR: SlipState.PAID_IN_ERROR,
}
_STEP = {
    "award-verified": "Verified", "award-released": "Released", "award-paid": "Paid", "award-refused": "Refused",
    "paid-in-error": "Found paid in error", "hit-changed": "Withdrawn", "hit-withdrawn": "Withdrawn",
    "paper-done": "Checklist",
}
_TRAY_WORDS = "chips, by the dealer from the tray"
_ENVY_WORDS = {award.PENDING: "", award.PAID: "paid", "unclaimed": "not claimed", award.TRAY: "paid by the dealer",
               award.CANCELLED: "not due"}


def slip_of(game: GameFile, seat: int, spot: str, number: int, copy: int, *, player: str = "",
            given_before: bool = False) -> Slip:
    """The slip of a place, with its number and copy (1: the first print); the same for ever.

    ``given_before``: this copy has been given out before, and it says so.

    Raises LookupError for a number or copy that no act has issued, and ValueError for what no slip can hold.
    """
    found = printed_of(game, seat, spot, number, copy)
    then = game.as_of(found.act.entry)
    one = _award_of(then, found)
    life = one.life
    paytable = game.round.plan.spot[spot].paytable
    paid = next((act for act in life.acts if act.kind == "award-paid"), None)
    how = _TRAY_WORDS if life.state == award.TRAY else "" if paid is None else _how_words(paid)
    return Slip(
        number=number, site=game.floor.site, site_name=game.floor.name, environment=game.floor.environment,
        state=_STATE[life.state], book=game.book, entry=found.act.entry, hash=found.hash,
        won_at=_local(game, life.at), printed_at=_local(game, found.act.at), table=game.table, game=game.game,
        seat=seat, spot=spot, hand=one.label, paytable=paytable.title, citation=paytable.citation,
        wager_cents=one.wager_cents, due_cents=life.due_cents, workings=tuple(life.workings.values()),
        fixed_cents=life.fixed_cents, returned_cents=life.returned_cents,
        envy=tuple([EnvyPaid(due.to, due.cents, _envy_words(due)) for due in one.envy]), lit=game.lit,
        steps=tuple(_steps(game, one)), reprint=copy - 1, given_before=given_before,
        several_books=len(game.floor.books) > 1, player=player, cards=one.cards, how=how,
        reason=_reason(one), override=_override(paid), paper=_paper(game, one),
        replaces=_replaces(then, one), replaced_by=_replaced_by(then, one))


def payee_of(game: GameFile, seat: int, spot: str, number: int, copy: int) -> str:
    """The digest of the payee's name as the checklist of a slip's own award keeps it, or empty; raises LookupError."""
    acts = _award_of(game, printed_of(game, seat, spot, number, copy)).life.acts
    return next((str(act.fields["payee"]) for act in acts if act.kind == "paper-done" and "payee" in act.fields), "")


def printed_of(game: GameFile, seat: int, spot: str, number: int, copy: int) -> Printed:
    """The print that an act issued; raises LookupError when none did."""
    for one in (*game.awards, *game.past):
        for found in one.printed:
            if one.life.place == (seat, spot) and (found.number, found.copy) == (number, copy):
                return found
    raise LookupError(f"no slip {number}, copy {copy}, was printed for seat {seat} in game {game.game}")


def _award_of(then: GameFile, found: Printed) -> AwardFile:
    return next(one for one in (*then.awards, *then.past) if found.act in one.life.acts)


def _local(game: GameFile, at: int) -> str:
    return (_EPOCH + timedelta(microseconds=at)).astimezone(game.floor.timezone).strftime("%Y-%m-%d %H:%M:%S %Z")


def _steps(game: GameFile, one: AwardFile) -> Iterator[Step]:
    for person in one.life.entered_by:
        yield Step("Hand entered", person, _local(game, one.life.at))
    for act in one.life.acts:
        if act.kind not in _STEP:
            continue
        people = act.people[:1] if act.kind == "award-paid" else act.people  # who decided a difference stands with it
        for person in people:
            yield Step(_STEP[act.kind], person, _local(game, act.at))


def _how_words(paid: ActDone) -> str:
    """What it was paid in, or the slip written by hand that had paid it."""
    return f"slip {paid.told['slip']}, written by hand" if "slip" in paid.told else str(paid.fields["how"])


def _envy_words(due: EnvyDue) -> str:
    if due.state == award.PAID and due.act is not None:
        how = _how_words(due.act)
        return f"paid {'by' if 'slip' in due.act.told else 'in'} {how}, by {due.act.people[0].id}"
    return _ENVY_WORDS[due.state]


def _reason(one: AwardFile) -> str:
    """Why it stands no more, or should not have been paid; and why cards that do not agree were taken as verified."""
    said = [str(act.fields["reason"]) for act in one.life.acts if "reason" in act.fields and act.kind != "award-paid"]
    return said[-1] if said else ""


def _override(paid: ActDone | None) -> Override | None:
    if paid is None or not paid.told["difference"]:
        return None
    return Override(paid.fields["handed"], str(paid.fields.get("reason", "")), paid.people[-1])


def _paper(game: GameFile, one: AwardFile) -> Paper | None:
    done = next((act for act in one.life.acts if act.kind == "paper-done"), None)
    if done is None and not one.paper:
        return None
    lines = game.floor.awards.paper
    answers = [(line, "" if done is None else f"done, {done.people[0].id}") for line in lines]
    if done is not None:
        answers += [
            ("Taxable", {"taxable": "yes", "not-taxable": "no"}[done.fields["taxable"]]),
            ("Form", str(done.fields.get("form", "none"))), ("Withheld", format_cents(done.told["withheld"])),
            ("Net", format_cents(done.told["net"]))]
    return Paper(game.floor.awards.paper_from_cents or 0, tuple(answers))


def _replaces(then: GameFile, one: AwardFile) -> int | None:
    """The slip of the award that this one came in place of, when a hand was changed."""
    if one.life.gone:
        return None
    before = [past for past in then.past if past.life.place == one.life.place and past.life.gone == one.life.entry]
    return before[-1].printed[0].number if before and before[-1].printed else None


def _replaced_by(then: GameFile, one: AwardFile) -> int | None:
    after = [other for other in (*then.past, *then.awards)
             if other.life.place == one.life.place and other.life.entry == one.life.gone]
    return after[0].printed[0].number if one.life.gone and after and after[0].printed else None
