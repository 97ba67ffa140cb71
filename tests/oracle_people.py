"""The oracle's people: awards and corrections, worked out again from the written rules and nothing of the product.

Written down before the engine was read (design sections 3, 4 and 7, and the text of awards and corrections):

1. An award: pending -> verified -> (released) -> paid, or refused. Verifier, releaser and payer are three persons; who
   corrected a wager or hand of it is none of them. A paid one is never undone; paid in error: the house makes it whole.
2. A meter's pending is the sum of the shares of its awards that are neither paid, refused nor withdrawn.
3. A round is settled as one, for each meter from where its first hit with a share found it, contributions since then on
   top, as long as nobody else has taken from that meter and no award of the round is paid; else apart, for good.
4. Apart: what a withdrawn hand was due goes back on the meter (display up to the limit, the rest overflow); then the
   new hands alone are settled from there. An apart settlement counts as taking for every other round.
5. Where no new hand has a share of a meter, a correction is a withdrawal for it, and its display does not fall.
6. Wagers are corrected until the first hit or an agreeing count, of which there may have been several.
7. What the house lays on a meter for an award paid in error may not be lost by a later settlement of another round: it
   counts as taking (the text is silent).
8. Each envy amount is a line of its own: pending, paid or unclaimed. It is paid once, after its hand was verified, by
   somebody who neither verified nor entered that hand. A hand whose envy is paid stands. A new hand has new lines.
9. A closed table takes no lock-out, but one that its unit kept of a start before the latest game's contributes; a table
   with an open game is not closed.
10. Chips that differ from the wagers are doubt about every seat until they agree or people have found why; a finding
   is of one difference. An award in doubt needs the third release, and nothing of it comes from the tray, nor envy for
   such a seat, or for one whose wager was corrected. Who wrote a finding takes no step of the game's awards, nor pays
   its envy, and the reverse; who paid envy does not verify its hand anew.
11. Releasing is done by another role than verifying, paying a released award by another than releasing.
12. Envy is not paid by who corrected the wager of the seat that gets it; from ``release_from`` on, or for a seat in
   doubt, a second person of a role that releases, and of another role than the first, signs.
13. Paid in error: unpaid envy is due no more; the true hand may come in its place, with an award and lines of its own.
14. A correction of wagers leads towards the count; one that reaches it is the agreement. Those who corrected a wager do
   not alone enter a hand of it.

Pending, and what the house put in, are never carried along: the first is added up from all awards after every step,
the second follows from the identity of section 3.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from oracle import ENVY_WAGER_MIN, Boot, Oracle, Refusal, Round, Table
from oracle_meter import Json, Kept, SpotOfSeat, fixed_part, money, rate, rate_at
from oracle_told import ROLES, Award, NotDone, Signers, Told

__all__ = ["NotDone", "PeopleOracle"]


class PeopleOracle(Oracle):
    """A fresh floor with people at its desk. ``release_from`` in cents; tables may have ``tray_limit``."""

    def __init__(self, floor: Json, paytables: dict[str, Json], at: int = 0, release_from: int | None = None) -> None:
        super().__init__(floor, paytables, at)
        self.release_from = release_from
        self.games: dict[tuple[str, int], Round] = {}
        self.told: dict[Round, Told] = {}
        self.closed: set[str] = set()
        self.paid: dict[str, Fraction] = dict.fromkeys(self.meters, Fraction(0))

    # ------------------------------------------------------------------ messages

    def _lock(self, table: Table, boot: Boot, said: Json) -> None:
        kept = table.latest is not None and boot.heard < table.latest.heard
        if table.rules["id"] in self.closed and said["round"] > boot.newest and not kept:
            raise Refusal("table-closed")
        super()._lock(table, boot, said)
        made = boot.rounds[said["round"]]
        number = 1 + sum(name == table.rules["id"] for name, _ in self.games)
        self.games[table.rules["id"], number] = made
        self.told[made] = Told(table)

    def _post(self, table: Table, boot: Boot, line: Any) -> Json:
        found, kind = table.open, line.fields["type"] if not line.malformed else ""
        said = super()._post(table, boot, line)
        if kind == "void" and found is not None:
            self.told[found].void = True
        if kind == "count" and found is not None:
            told = self.told[found]
            told.chips = line.fields["chips"]
            told.agreed = told.agreed or told.chips == len(found.wagers)
        return said

    def _hits(self, table: Table, found: Round, said: list[Json]) -> Json:
        before = set(found.hits)
        signed = self._signed_sums(found)
        answer = super()._hits(table, found, said)
        self._sign_anew(found, signed)
        for place in found.hits.keys() - before:
            self._open_award(found, place, set())
        self._add_up()
        return answer | {"envy": self._envy_due(found)}

    def _envy_due(self, found: Round) -> list[Json]:
        """What each seat is due for all hands that stand, without what a payment in error has taken away."""
        due: dict[int, int] = {}
        for place in found.hits:
            for seat, cents in self.envy_of(found, place).items():
                if self.told[found].lines.get((place, seat)) != "cancelled":
                    due[seat] = due.get(seat, 0) + cents
        return [{"seat": seat, "cents": due[seat]} for seat in sorted(due)]

    def _signed_sums(self, found: Round) -> dict[SpotOfSeat, int]:
        """What people have signed and not paid, in cents by place."""
        return {place: self.due(found, place) for place, award in self.told[found].awards.items()
                if award.state in ("verified", "released")}

    def _sign_anew(self, found: Round, signed: dict[SpotOfSeat, int]) -> None:
        """Another amount than people signed is pending again."""
        for place, due in signed.items():
            if self.due(found, place) != due:
                award = self.told[found].awards[place]
                award.state, award.did, award.roles = "pending", {}, {}

    def _open_award(self, found: Round, place: SpotOfSeat, touched: set[str]) -> None:
        told = self.told[found]
        told.any_hit = True
        if place in found.envy_only:
            told.alone[place] = touched | told.hands.get(place, set())
            return
        touched = touched | told.hands.get(place, set())
        whole = self.due(found, place) + sum(self.envy_of(found, place).values())
        limit = told.table.rules.get("tray_limit")
        small = not found.shares[place] and limit is not None and whole <= money(limit) and not touched
        envied = self.envy_of(found, place)
        proved = not any(self.in_doubt(found, seat) for seat in (place[0], *envied))
        proved = proved and not any(told.hands.get((seat, place[1])) for seat in envied)
        told.awards[place] = Award("tray" if small and proved else "pending", touched)

    # ------------------------------------------------------------------ money

    def _settle(self, table: Table, found: Round, name: str, new: set[SpotOfSeat]) -> bool:
        return self._resettle(table, found, name, new, None)

    def _resettle(self, table: Table, found: Round, name: str, new: set[SpotOfSeat], gone: int | None) -> bool:
        """Settle one meter after a change of the round's hits; ``gone``: cents a withdrawn one was due of it."""
        sharing = self._sharing(table, found, name)
        fresh = [hit for hit in sharing if hit[0] in new]
        if not fresh and gone is None:
            return False
        meter, told, before = self.meters[name], self.told[found], self.meters[name].now
        kept = found.kept.setdefault(
            name, Kept(meter.now, meter.contributed, meter.contributed_reserve, len(meter.takers)))
        if told.paid or any(taker is not found for taker in meter.takers[kept.takings:]):
            told.apart.add(name)
        if name in told.apart:
            start = meter.contribute(before, Fraction(gone or 0), Fraction(0))
            meter.now, awards = meter.settle(start, fresh)
        else:
            settled, awards = meter.settle(kept.balances, sharing)
            after = meter.contribute(
                settled, meter.contributed - kept.contributed, meter.contributed_reserve - kept.contributed_reserve)
            if not fresh and after.display < before.display:
                after = replace(after, display=before.display)
            meter.now = after
        meter.takers.append(found)
        for hit, cents in awards.items():
            found.shares[hit][self._part(table, hit[1], name)] = cents
        return name in told.apart

    def _add_up(self) -> None:
        """Pending is the sum of open shares; what the house put in follows from the identity."""
        pending = dict.fromkeys(self.meters, 0)
        for found, told in self.told.items():
            for place, award in told.awards.items():
                for part, cents in found.shares[place].items():
                    pending[self._meter(told, place, part)] += 0 if award.state in ("paid", "in-error") else cents
        for name, meter in self.meters.items():
            now = replace(meter.now, pending=Fraction(pending[name]))
            inside = now.display + now.reserve + now.overflow + now.pending + self.paid[name]
            meter.now = replace(now, house=inside - meter.contributed - meter.contributed_reserve)

    @staticmethod
    def _meter(told: Told, place: SpotOfSeat, part: str) -> str:
        return str(told.table.spots[place[1]]["meters"][part])

    def due(self, found: Round, place: SpotOfSeat) -> int:
        """Cents of shares, fixed part and returned wager."""
        table = self.told[found].table
        paytable = self.paytables[table.spots[place[1]]["paytable"]]
        fixed, returned = fixed_part(paytable, self._prizes(table, place[1])[found.hits[place]])
        return sum(found.shares[place].values()) + fixed + returned

    def envy_of(self, found: Round, place: SpotOfSeat) -> dict[int, int]:
        """What one standing hand earns each other seat."""
        bonus = int(money(self._prizes(self.told[found].table, place[1])[found.hits[place]].get("envy", "$0.00")))
        return {seat: bonus for (seat, spot), cents in found.wagers.items()
                if bonus and spot == place[1] and seat != place[0] and cents >= ENVY_WAGER_MIN}

    # ------------------------------------------------------------------ acts

    def act(self, kind: str, people: Signers, said: Mapping[str, Any]) -> None:
        """Do an act of awards and corrections, or raise NotDone and change nothing."""
        if kind in ("table-opened", "table-closed"):
            self._turn(said["table"], kind == "table-closed", people)
            return
        found = self.games.get((said["table"], said["game"]))
        if found is None or len({name for name, _ in people}) < len(people):
            raise NotDone
        told, place = self.told[found], (said.get("seat", 0), said.get("spot", ""))
        {
            "award-verified": self._verify, "award-released": self._release, "award-paid": self._pay,
            "award-refused": self._refuse, "paid-in-error": self._in_error, "hit-added": self._add,
            "hit-changed": self._change, "hit-withdrawn": self._withdraw, "wager-added": self._add_wager,
            "wager-removed": self._remove_wager, "count-closed": self._close_count,
            "envy-paid": self._pay_envy, "envy-unclaimed": self._leave_envy,
        }[kind](found, told, place, people, said)
        self._add_up()

    @staticmethod
    def _award(told: Told, place: SpotOfSeat, *states: str) -> Award:
        award = told.awards.get(place)
        if award is None or award.state not in states:
            raise NotDone
        return award

    @staticmethod
    def _untouched(told: Told, award: Award, people: Signers, *others: str) -> None:
        barred = set(award.touched | told.finders).union(*(award.did.get(step, set()) for step in others))
        if {name for name, _ in people} & barred:
            raise NotDone

    @staticmethod
    def _did(award: Award, step: str, people: Signers) -> None:
        award.did[step] = {name for name, _ in people}
        award.roles[step] = {role for _, role in people}

    @staticmethod
    def _other_role(award: Award, step: str, people: Signers) -> None:
        if people[0][1] in award.roles.get(step, set()):
            raise NotDone

    @staticmethod
    def _signed(people: Signers, *roles: set[str]) -> None:
        """As many people as roles at least, each of one of the roles."""
        if len(people) < len(roles) or any(role not in may for (_, role), may in zip(people, roles, strict=False)):
            raise NotDone

    def _verify(self, _found: Round, told: Told, place: SpotOfSeat, people: Signers, _said: Any) -> None:
        award = self._award(told, place, "pending")
        self._signed(people, ROLES["floor"])
        self._untouched(told, Award("", award.touched | told.paid_envy(place)), people)
        award.state = "verified"
        self._did(award, "verify", people)

    def in_doubt(self, found: Round, seat: int) -> bool:
        """Whether the wager of a seat could not be proved, or chips and wagers differ and nobody has found why."""
        told = self.told[found]
        over = 0 if told.chips is None else told.chips - len(found.wagers)
        return over not in (0, told.explained) or bool({0, seat} & told.doubted)

    def needs_release(self, found: Round, place: SpotOfSeat) -> bool:
        """Above the configured amount, or on a seat in doubt."""
        large = self.release_from is not None and self.due(found, place) >= self.release_from
        return large or self.in_doubt(found, place[0])

    def _release(self, found: Round, told: Told, place: SpotOfSeat, people: Signers, _said: Any) -> None:
        award = self._award(told, place, "verified")
        self._signed(people, ROLES["release"])
        self._untouched(told, award, people, "verify")
        self._other_role(award, "verify", people)
        if not self.needs_release(found, place):
            raise NotDone
        award.state = "released"
        self._did(award, "release", people)

    def _pay(self, found: Round, told: Told, place: SpotOfSeat, people: Signers, said: Any) -> None:
        award = self._award(told, place, "verified", "released")
        differs = said["handed"] != self.due(found, place)
        third = [(name, role) for name, role in people[1:]]
        self._signed(people, ROLES["floor"])
        self._untouched(told, award, people, "verify", "release")
        self._other_role(award, "release", people)
        if award.state == "verified" and self.needs_release(found, place):
            raise NotDone
        if differs and not ("reason" in said and third):
            raise NotDone
        if third:
            self._signed(third, ROLES["release"])
        award.state, told.paid = "paid", True
        self._did(award, "pay", people)
        for part, cents in found.shares[place].items():
            self.paid[self._meter(told, place, part)] += cents

    def _refuse(self, found: Round, told: Told, place: SpotOfSeat, people: Signers, _said: Any) -> None:
        self._award(told, place, "pending", "verified", "released")
        self._signed(people, ROLES["floor"], ROLES["floor"])
        self._envy_unpaid(told, place)
        self._restand(found, told, place, None, False, {name for name, _ in people})

    def _in_error(self, found: Round, told: Told, place: SpotOfSeat, people: Signers, _said: Any) -> None:
        award = self._award(told, place, "paid")
        self._signed(people, ROLES["floor"], ROLES["floor"], {"accounting"})
        award.state = "in-error"
        for seat in self.envy_of(found, place):
            if told.lines.get((place, seat)) != "paid":
                told.lines[place, seat] = "cancelled"
        for part, cents in found.shares[place].items():
            meter = self.meters[self._meter(told, place, part)]
            meter.now = meter.contribute(meter.now, Fraction(cents), Fraction(0))
            meter.takers.append(award)

    def _turn(self, name: str, close: bool, people: Signers) -> None:
        table = next(table for table in self.tables.values() if table.rules["id"] == name)
        self._signed(people, ROLES["floor"])
        if (name in self.closed) == close or (close and table.open is not None):
            raise NotDone
        self.closed ^= {name}

    def _line(self, found: Round, told: Told, place: SpotOfSeat, said: Any) -> tuple[SpotOfSeat, int]:
        """A line of envy that people may deal with: its hand stands, and is verified where it has an award."""
        award = told.awards.get(place)
        if place not in found.hits or said["to"] not in self.envy_of(found, place):
            raise NotDone
        if award is not None and award.state in ("pending", "tray", "in-error"):
            raise NotDone
        if award is not None and award.state == "verified" and self.needs_release(found, place):
            raise NotDone
        return place, said["to"]

    def _pay_envy(self, found: Round, told: Told, place: SpotOfSeat, people: Signers, said: Any) -> None:
        line = self._line(found, told, place, said)
        award = told.awards.get(place)
        proved = not self.in_doubt(found, line[1])
        large = self.release_from is not None and self.envy_of(found, place)[line[1]] >= self.release_from
        if large or not proved:
            self._signed(people, ROLES["floor"], ROLES["release"] - {people[0][1]})
        elif award is None:  # nobody verifies the hand of a seat without a wager: two people pay its envy
            self._signed(people, ROLES["floor"], ROLES["floor"])
        else:
            self._signed(people, ROLES["floor"], *[ROLES["floor"] | ROLES["release"] for _ in people[1:]])
        self._untouched(told, told.awards.get(place) or Award("", told.alone[place]), people, "verify")
        names = {name for name, _ in people}
        if names & told.hands.get((line[1], place[1]), set()) or told.lines.get(line) == "paid":
            raise NotDone
        told.lines[line] = "paid"
        told.payers.setdefault(line, set()).update(names)

    def _leave_envy(self, found: Round, told: Told, place: SpotOfSeat, people: Signers, said: Any) -> None:
        line = self._line(found, told, place, said)
        self._signed(people, ROLES["floor"])
        if line in told.lines:
            raise NotDone
        told.lines[line] = "unclaimed"

    # ------------------------------------------------------------------ corrections

    def _restand(
        self, found: Round, told: Told, gone: SpotOfSeat | None, new: tuple[SpotOfSeat, str, bool] | None, change: bool,
        touched: set[str] | None = None,
    ) -> None:
        """A hand less, a hand more, or another: then each meter that one of them has a share of, anew."""
        left: dict[str, int] = {}
        signed = {place: due for place, due in self._signed_sums(found).items() if place != gone}
        if gone is not None:
            left = {self._meter(told, gone, part): cents for part, cents in found.shares[gone].items()}
            award = told.awards.pop(gone, None)
            known = award.touched if award is not None else told.alone.pop(gone, set())
            if not change:  # who entered it or took it away takes no part in what is keyed in its place
                told.hands.setdefault(gone, set()).update(known | (touched or set()))
            touched = (touched or set()) | (known if change else set())
            told.lines = {line: state for line, state in told.lines.items() if line[0] != gone}
            del found.hits[gone], found.shares[gone]
            found.envy_only.discard(gone)
        if new is not None:
            place, outcome, envy_only = new
            found.hits[place], found.shares[place] = outcome, {}
            if envy_only:
                found.envy_only.add(place)
        fresh = set() if new is None else {new[0]}
        for name in self.meters:
            self._resettle(told.table, found, name, fresh, left.get(name))
        self._sign_anew(found, signed)
        if new is not None:
            self._open_award(found, new[0], touched or set())

    def _correctors(self, told: Told, people: Signers) -> set[str]:
        self._signed(people, ROLES["floor"], ROLES["floor"])
        if told.void or len(people) > 2:
            raise NotDone
        return {name for name, _ in people}

    def _known(self, told: Told, place: SpotOfSeat, outcome: str) -> None:
        if place[1] not in told.table.spots or outcome not in self._prizes(told.table, place[1]):
            raise NotDone

    def _add(self, found: Round, told: Told, place: SpotOfSeat, people: Signers, said: Any) -> None:
        who, envy_only = self._correctors(told, people), said.get("envy_only", False)
        self._known(told, place, said["outcome"])
        wrong = told.awards.get(place) if place in told.awards and told.awards[place].state == "in-error" else None
        if (place in found.hits and wrong is None) or not 1 <= place[0] <= told.table.rules["seats"]:
            raise NotDone
        if (place in found.wagers) == envy_only:
            raise NotDone
        if envy_only and told.table.rules.get("envy_hand") != "any-player":
            raise NotDone
        if who <= told.wagered.get(place, set()):
            raise NotDone
        if wrong is not None:
            told.hands.setdefault(place, set()).update(wrong.touched)
            told.paid_wrongly |= wrong.did["pay"]
            told.lines = {line: state for line, state in told.lines.items() if line[0] != place}
        self._restand(found, told, None, (place, said["outcome"], envy_only), False, who)

    @staticmethod
    def _envy_unpaid(told: Told, place: SpotOfSeat) -> None:
        if any(hand == place and state == "paid" for (hand, _), state in told.lines.items()):
            raise NotDone

    def _standing(self, found: Round, told: Told, place: SpotOfSeat) -> None:
        """A hand that may be changed or withdrawn: it stands, and its award is not paid."""
        if place not in found.hits:
            raise NotDone
        if place not in found.envy_only:
            self._award(told, place, "pending", "verified", "released", "tray")
        self._envy_unpaid(told, place)

    def _change(self, found: Round, told: Told, place: SpotOfSeat, people: Signers, said: Any) -> None:
        who = self._correctors(told, people)
        self._standing(found, told, place)
        self._known(told, place, said["outcome"])
        if found.hits[place] == said["outcome"] or who <= told.wagered.get(place, set()):
            raise NotDone
        self._restand(found, told, place, (place, said["outcome"], place in found.envy_only), True, who)

    def _withdraw(self, found: Round, told: Told, place: SpotOfSeat, people: Signers, _said: Any) -> None:
        self._correctors(told, people)
        self._standing(found, told, place)
        self._restand(found, told, place, None, False, {name for name, _ in people})

    def _wagers_open(self, found: Round, told: Told, more: int) -> None:
        if told.any_hit or told.agreed or told.chips == len(found.wagers):
            raise NotDone
        if told.chips is not None and (told.chips > len(found.wagers)) != (more > 0):
            raise NotDone

    @staticmethod
    def _corrected(found: Round, told: Told, place: SpotOfSeat, who: set[str]) -> None:
        told.hands.setdefault(place, set()).update(who)
        told.wagered.setdefault(place, set()).update(who)
        told.agreed = told.agreed or told.chips == len(found.wagers)

    def _share_of_wager(self, told: Told, place: SpotOfSeat) -> dict[str, tuple[Fraction, Fraction]]:
        """What one wager contributes by meter: to the meter, and to its reserve."""
        paytable = self.paytables[told.table.spots[place[1]]["paytable"]]
        cents, made = int(money(paytable["wager"])), dict[str, tuple[Fraction, Fraction]]()
        for part, name in told.table.spots[place[1]]["meters"].items():
            figures = paytable["meter"][part]
            whole, reserve = made.get(name, (Fraction(0), Fraction(0)))
            made[name] = (whole + cents * rate_at(figures["rate_of_progression"], told.table.rules.get("decks")),
                          reserve + cents * rate(figures["reserve_rate"]))
        return made

    def _add_wager(self, found: Round, told: Told, place: SpotOfSeat, people: Signers, _said: Any) -> None:
        who = self._correctors(told, people)
        self._wagers_open(found, told, 1)
        if place in found.wagers or place[1] not in told.table.spots or not 1 <= place[0] <= told.table.rules["seats"]:
            raise NotDone
        parts = self._share_of_wager(told, place)
        if place in told.rebooked:  # it is on the meter already: the players' again instead of the house's
            told.rebooked.discard(place)
            for name, (whole, reserve) in parts.items():
                self.meters[name].voided -= whole + reserve
                found.contributed[name] += whole + reserve
            found.wagers[place] = int(money(self.paytables[told.table.spots[place[1]]["paytable"]]["wager"]))
            self._corrected(found, told, place, who)
            return
        for name, (whole, reserve) in parts.items():
            if whole + reserve > money(self.meters[name].rules["unreasonable_contribution"]):
                raise NotDone
        for name, (whole, reserve) in parts.items():
            meter = self.meters[name]
            meter.now = meter.contribute(meter.now, whole, reserve)
            meter.contributed += whole
            meter.contributed_reserve += reserve
            found.contributed[name] += whole + reserve
        found.wagers[place] = int(money(self.paytables[told.table.spots[place[1]]["paytable"]]["wager"]))
        self._corrected(found, told, place, who)

    def _remove_wager(self, found: Round, told: Told, place: SpotOfSeat, people: Signers, _said: Any) -> None:
        who = self._correctors(told, people)
        self._wagers_open(found, told, -1)
        if place not in found.wagers:
            raise NotDone
        for name, (whole, reserve) in self._share_of_wager(told, place).items():
            self.meters[name].voided += whole + reserve
            found.contributed[name] -= whole + reserve
        told.rebooked.add(place)
        del found.wagers[place]
        self._corrected(found, told, place, who)

    def _close_count(self, found: Round, told: Told, place: SpotOfSeat, people: Signers, _said: Any) -> None:
        who = self._correctors(told, people)
        over = 0 if told.chips is None else told.chips - len(found.wagers)
        if not over or (place[0] in told.doubted and over == told.explained):
            raise NotDone
        signed = [name for award in told.awards.values() for name in award.did.values()]
        if who & set().union(*signed, *told.payers.values(), told.paid_wrongly):
            raise NotDone
        told.doubted.add(place[0])
        told.explained = over
        told.finders |= who

