"""The register of people through the real desk: nobody gets in or up alone (R-99 to R-105, WE-03)."""

import json
from typing import Any

import pytest
from demo_snapshot import busy_snapshot
from hypothesis import given, settings
from hypothesis import strategies as st
from people_house import ANNA, BORIS, CARLA, DORA, EMIL, GUNTHER, STAFF

from controller import desk
from controller.acts import KINDS, Acted, ActRefused, Why, read_act
from controller.floor import Floor
from controller.people import Person, Role
from controller.people_acts import (
    MADE_INSIDE,
    PEOPLE_KINDS,
    PEOPLE_RULES,
    REMOTE_MINUTES_MAX,
    THE_CONTROLLER,
    TOKENS_MAX,
)
from controller.register import ENABLERS, PROPOSERS, Registered, can_go_on, everybody, from_row, registered, to_row

AT = 1_800_000_000_000_000
MINUTE_US, DAY_US = 60_000_000, 86_400_000_000
PRINT = "0" * 64
HUGO = Person("hugo", Role.SUPERVISOR, "table-games")
NEW: dict[str, object] = {"id": "hugo", "name": "Hugo", "role": "supervisor", "department": "table-games"}


class Office:
    """A floor whose acts are short to write; each gets an id of its own."""

    def __init__(self) -> None:
        self.floor = Floor.opened(busy_snapshot().plan, "main", 1)
        self.count = 0

    def act(self, kind: str, by: Person, second: Person | None = None, at: int = AT, **fields: object) -> Acted:
        self.count += 1
        return desk.act(self.floor, read_act(kind, f"act-{self.count:06}", fields, by, second), at)

    def refused(self, kind: str, by: Person, second: Person | None = None, at: int = AT, **fields: object) -> Why:
        before = json.dumps(self.floor.rows, sort_keys=True), self.floor.number
        with pytest.raises(ActRefused) as refusal:
            self.act(kind, by, second, at, **fields)
        assert (json.dumps(self.floor.rows, sort_keys=True), self.floor.number) == before
        assert refusal.value.what
        assert refusal.value.remedy
        return refusal.value.why

    def find(self, name: str) -> Registered:
        found = registered(self.floor.rows["person"], name)
        assert found is not None
        return found


def enable_staff(office: Office) -> None:
    for person in STAFF:
        one = Registered(person, person.id, "enabled", 1, None, "", 0, False, "")
        office.floor.keep("person", person.id, to_row(one))


@pytest.fixture
def office() -> Office:
    """Everybody of the staff is enabled."""
    made = Office()
    enable_staff(made)
    return made


@pytest.fixture
def empty() -> Office:
    return Office()


def test_every_act_has_its_rule_and_every_rule_its_act() -> None:
    assert {kind.name for kind in PEOPLE_KINDS} == PEOPLE_RULES.keys()
    assert PEOPLE_RULES.keys() > MADE_INSIDE
    assert all(name in KINDS for name in PEOPLE_RULES)


# The first two


def test_the_first_two_are_made_together(empty: Office) -> None:
    empty.act("people-begun", BORIS, DORA, name="Boris", second_name="Dora")
    assert [(one.person, one.state) for one in everybody(empty.floor.rows["person"])] == [
        (BORIS, "enabled"), (DORA, "enabled")]


def test_there_are_first_two_only_once(office: Office) -> None:
    assert office.refused("people-begun", BORIS, DORA, name="B", second_name="D") is Why.ALREADY_DONE


@pytest.mark.parametrize(("first", "second", "why"), [
    (BORIS, None, Why.SECOND_PERSON), (BORIS, BORIS, Why.SAME_PERSON),
    (DORA, Person("emil", Role.ADMINISTRATOR, "it"), Why.SAME_DEPARTMENT),
    (ANNA, DORA, Why.NOT_ALLOWED), (CARLA, GUNTHER, Why.NOT_ALLOWED),
    (BORIS, Person("Dora", Role.ADMINISTRATOR, "it"), Why.WRONG_FIELD),
    (BORIS, Person("dora", Role.ADMINISTRATOR, "elsewhere"), Why.WRONG_FIELD),
])  # fmt: skip
def test_the_first_two_differ_and_can_go_on(empty: Office, first: Person, second: Person | None, why: Why) -> None:
    assert empty.refused("people-begun", first, second, name="A", second_name="B") is why


# Proposed by one, enabled by another


def test_a_proposed_person_is_enabled_by_another_department(office: Office) -> None:
    office.act("person-proposed", DORA, **NEW)
    assert office.find("hugo").state == "proposed"
    office.act("person-enabled", CARLA, id="hugo")
    found = office.find("hugo")
    assert (found.person, found.state, found.must_change, found.first_by) == (HUGO, "enabled", True, "carla")


@pytest.mark.parametrize(("by", "why"), [
    (DORA, Why.SAME_PERSON), (Person("ivan", Role.ADMINISTRATOR, "it"), Why.SAME_DEPARTMENT),
    (ANNA, Why.NOT_ALLOWED), (EMIL, Why.NOT_ALLOWED)])
def test_who_may_not_enable(office: Office, by: Person, why: Why) -> None:
    office.act("person-proposed", DORA, **NEW)
    assert office.refused("person-enabled", by, id="hugo") is why


def test_a_proposer_who_changed_department_cannot_lend_it(office: Office) -> None:
    """WE-03: after a role change, both the old and the new department count."""
    office.act("person-proposed", DORA, **NEW)
    office.act("person-change-proposed", BORIS, id="dora", role="administrator", department="audit")
    office.act("person-change-enabled", CARLA, id="dora")
    assert office.refused("person-enabled", GUNTHER, id="hugo") is Why.SAME_DEPARTMENT


def test_what_a_disabled_person_proposed_is_not_enabled(office: Office) -> None:
    office.act("person-proposed", DORA, **NEW)
    office.act("person-disabled", BORIS, id="dora", reason="left")
    assert office.refused("person-enabled", CARLA, id="hugo") is Why.NOT_NOW


@pytest.mark.parametrize("role", sorted(set(Role) - PROPOSERS))
def test_who_may_not_propose(office: Office, role: Role) -> None:
    assert office.refused("person-proposed", Person("x", role, "security"), **NEW) is Why.NOT_ALLOWED


@pytest.mark.parametrize(("changes", "why"), [
    ({"id": "anna"}, Why.ALREADY_DONE), ({"id": "Hugo"}, Why.WRONG_FIELD), ({"id": "h"}, Why.WRONG_FIELD),
    ({"id": "9hugo"}, Why.WRONG_FIELD), ({"department": "nowhere"}, Why.WRONG_FIELD),
    ({"role": "boss"}, Why.WRONG_FIELD),
    ({"id": "@controller"}, Why.WRONG_FIELD)])
def test_a_wrong_proposal_is_refused(office: Office, changes: dict[str, object], why: Why) -> None:
    assert office.refused("person-proposed", DORA, **(NEW | changes)) is why


def test_nobody_enables_a_change_of_their_own_rights(office: Office) -> None:
    """WE-03: the right to enable people makes nobody an administrator."""
    office.act("person-change-proposed", DORA, id="carla", role="administrator", department="accounting")
    assert office.refused("person-change-enabled", CARLA, id="carla") is Why.SAME_PERSON


def test_a_change_takes_effect_when_enabled(office: Office) -> None:
    office.act("person-change-proposed", DORA, id="anna", role="shift-manager", department="table-games")
    assert office.find("anna").person.role is Role.SUPERVISOR
    office.act("person-change-enabled", CARLA, id="anna", at=AT + 5)
    assert (office.find("anna").person.role, office.find("anna").since) == (Role.SHIFT_MANAGER, AT + 5)


def test_a_change_that_changes_nothing_is_refused(office: Office) -> None:
    assert office.refused("person-change-proposed", DORA, id="anna", role="supervisor",
                          department="table-games") is Why.ALREADY_DONE


def test_one_proposal_waits_at_a_time(office: Office) -> None:
    office.act("person-change-proposed", DORA, id="anna", role="auditor", department="audit")
    assert office.refused("person-change-proposed", BORIS, id="anna", role="technician", department="it") is Why.NOT_NOW


def test_a_withdrawn_proposal_leaves_nothing(office: Office) -> None:
    office.act("person-proposed", DORA, **NEW)
    office.act("person-withdrawn", GUNTHER, id="hugo", reason="wrong name")
    assert "hugo" not in office.floor.rows["person"]
    assert office.refused("person-withdrawn", GUNTHER, id="anna", reason="x") is Why.NOT_NOW


# Taking rights away


def test_one_person_disables_another_at_once(office: Office) -> None:
    office.act("person-disabled", DORA, id="anna", reason="left", at=AT)
    found = office.find("anna")
    assert (found.state, found.since, found.secret) == ("disabled", AT, "")


def test_a_disabled_person_comes_back_by_two_with_a_new_secret(office: Office) -> None:
    office.act("person-disabled", DORA, id="anna", reason="left")
    office.act("person-change-proposed", DORA, id="anna", role="supervisor", department="table-games")
    office.act("person-change-enabled", CARLA, id="anna")
    found = office.find("anna")
    assert (found.state, found.must_change, found.secret) == ("enabled", True, "")


def test_the_last_who_can_go_on_are_not_disabled(empty: Office) -> None:
    """Nobody could ever be enabled again."""
    empty.act("people-begun", BORIS, DORA, name="Boris", second_name="Dora")
    assert empty.refused("person-disabled", BORIS, id="dora", reason="x") is Why.NOT_NOW


# Secrets: fingerprints only


def test_everybody_changes_their_own_secret_only(office: Office) -> None:
    office.act("secret-changed", ANNA, id="anna", print=PRINT)
    assert (office.find("anna").secret, office.find("anna").secret_at) == (PRINT, AT)
    assert office.refused("secret-changed", DORA, id="anna", print=PRINT) is Why.NOT_ALLOWED


def test_a_first_secret_is_set_once_by_the_one_who_enabled(office: Office) -> None:
    office.act("person-proposed", DORA, **NEW)
    office.act("person-enabled", CARLA, id="hugo")
    assert office.refused("secret-changed", DORA, id="hugo", print=PRINT, first="yes") is Why.NOT_ALLOWED
    office.act("secret-changed", CARLA, id="hugo", print=PRINT, first="yes")
    assert office.find("hugo").must_change
    assert office.refused("secret-changed", CARLA, id="hugo", print=PRINT, first="yes") is Why.NOT_ALLOWED
    office.act("secret-changed", HUGO, id="hugo", print="1" * 64)
    assert not office.find("hugo").must_change


def test_on_the_box_a_secret_is_set_by_two_departments(office: Office) -> None:
    office.act("secret-set-on-box", ANNA, DORA, id="anna", print=PRINT)
    assert office.find("anna").secret == PRINT
    assert office.refused("secret-set-on-box", ANNA, BORIS, id="anna", print=PRINT) is Why.SAME_DEPARTMENT
    assert office.refused("secret-set-on-box", ANNA, None, id="anna", print=PRINT) is Why.SECOND_PERSON


@pytest.mark.parametrize("wrong", ["x", "0" * 63, "G" * 64])
def test_what_is_no_fingerprint_is_refused(office: Office, wrong: str) -> None:
    """CF-06: no secret gets into the ledger by mistake."""
    assert office.refused("secret-changed", ANNA, id="anna", print=wrong) is Why.WRONG_FIELD


# Tokens


def test_a_token_has_a_scope_and_an_end(office: Office) -> None:
    office.act("token-made", ANNA, id="nightly", scope="read", days=30, print=PRINT)
    row = office.floor.rows["token"]["nightly"]
    assert (row["person"], row["scope"], row["until"]) == ("anna", "read", AT + 30 * DAY_US)


def test_a_token_is_ended_by_its_person_or_who_proposes_people(office: Office) -> None:
    office.act("token-made", ANNA, id="nightly", scope="read", days=30, print=PRINT)
    assert office.refused("token-ended", CARLA, id="nightly", reason="x") is Why.NOT_FOUND
    office.act("token-ended", DORA, id="nightly", reason="lost")
    assert office.floor.rows["token"] == {}


@pytest.mark.parametrize(("changes", "why"), [
    ({"days": 0}, Why.WRONG_FIELD), ({"days": 366}, Why.WRONG_FIELD), ({"scope": "all"}, Why.WRONG_FIELD),
    ({"id": "a.b c"}, Why.WRONG_FIELD), ({"print": "x"}, Why.WRONG_FIELD)])
def test_a_wrong_token_is_refused(office: Office, changes: dict[str, object], why: Why) -> None:
    given: dict[str, object] = {"id": "nightly", "scope": "read", "days": 1, "print": PRINT}
    assert office.refused("token-made", ANNA, **(given | changes)) is why


def test_tokens_are_bounded_and_ended_ones_make_room(office: Office) -> None:
    for n in range(TOKENS_MAX):
        office.act("token-made", ANNA, id=f"token-{n}", scope="read", days=1, print=PRINT)
    one: dict[str, object] = {"id": "another", "scope": "read", "days": 1, "print": PRINT}
    assert office.refused("token-made", ANNA, **one) is Why.NOT_NOW
    office.act("token-made", ANNA, at=AT + 2 * DAY_US, **one)
    assert list(office.floor.rows["token"]) == ["another"]


# Remote access


def test_remote_access_is_open_for_one_session_until_its_end(office: Office) -> None:
    office.act("remote-opened", BORIS, id="emil", minutes=30, reason="a call to the maker")
    office.act("signed-in", EMIL, peer="203.0.113.9", remote="yes")
    assert office.refused("signed-in", EMIL, peer="203.0.113.9", remote="yes") is Why.NOT_ALLOWED


def test_remote_access_ends_by_itself(office: Office) -> None:
    office.act("remote-opened", BORIS, id="emil", minutes=30, reason="a call")
    later = AT + 30 * MINUTE_US
    assert office.refused("signed-in", EMIL, None, later, peer="203.0.113.9", remote="yes") is Why.NOT_ALLOWED


def test_anybody_ends_remote_access(office: Office) -> None:
    office.act("remote-opened", BORIS, id="emil", minutes=30, reason="a call")
    office.act("remote-ended", ANNA, id="emil", reason="done")
    assert office.refused("remote-ended", ANNA, id="emil", reason="done") is Why.ALREADY_DONE
    assert office.refused("signed-in", EMIL, peer="203.0.113.9", remote="yes") is Why.NOT_ALLOWED


@pytest.mark.parametrize(("by", "changes", "why"), [
    (BORIS, {"id": "boris"}, Why.SAME_PERSON), (ANNA, {}, Why.NOT_ALLOWED), (BORIS, {"id": "nobody"}, Why.NOT_FOUND),
    (BORIS, {"minutes": REMOTE_MINUTES_MAX + 1}, Why.WRONG_FIELD), (BORIS, {"minutes": 0}, Why.WRONG_FIELD)])
def test_remote_access_is_not_opened(office: Office, by: Person, changes: dict[str, object], why: Why) -> None:
    assert office.refused("remote-opened", by, **({"id": "emil", "minutes": 5, "reason": "x"} | changes)) is why


def test_the_access_log_keeps_who_and_from_where(office: Office) -> None:
    """R-102."""
    office.act("sign-in-refused", THE_CONTROLLER, id="anna", peer="203.0.113.9", count=4, reason="wrong secret")
    entry = office.floor.entries[-1]
    assert (entry.kind, json.loads(entry.body)["fields"]["count"]) == ("sign-in-refused", 4)
    assert entry.postings == ()


# Always


names = st.sampled_from([person.id for person in STAFF] + ["hugo", "ida"])
roles, departments = st.sampled_from(list(Role)), st.sampled_from(["it", "audit", "accounting", "security"])
steps = st.one_of(
    st.tuples(st.sampled_from(["person-proposed", "person-change-proposed"]), names, roles, departments),
    st.tuples(st.sampled_from(["person-enabled", "person-change-enabled"]), names),
    st.tuples(st.sampled_from(["person-withdrawn", "person-disabled"]), names),
)


def fields_of(step: tuple[Any, ...]) -> dict[str, object]:
    made: dict[str, object] = {"id": step[1]}
    if len(step) == 4:
        made |= {"role": step[2].value, "department": step[3]}
    if step[0] == "person-proposed":
        made["name"] = "Somebody"
    if step[0] in ("person-withdrawn", "person-disabled"):
        made["reason"] = "because"
    return made


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(names, steps), max_size=25))
def test_whatever_people_try_two_signed_each_right_and_the_register_can_go_on(
    played: list[tuple[str, tuple[Any, ...]]]
) -> None:
    """Everybody acts as who they are now; what was refused changes nothing; rows read back as they were."""
    office = Office()
    enable_staff(office)
    people = office.floor.rows["person"]
    for name, step in played:
        actor = registered(people, name)
        if actor is None or not actor.enabled:
            continue
        before = {key: from_row(key, row) for key, row in people.items()}
        try:
            office.act(step[0], actor.person, **fields_of(step))
        except ActRefused:
            assert {key: from_row(key, row) for key, row in people.items()} == before
            continue
        for key, row in people.items():
            now, was = from_row(key, row), before.get(key)
            assert to_row(now) == row
            if now.enabled and (was is None or not was.enabled or was.person != now.person):
                assert was is not None
                assert was.waiting is not None
                assert was.waiting.by.id not in (name, key)
                assert name != key
                assert was.waiting.by.department != actor.person.department
        assert can_go_on(people)


def test_the_same_acts_make_the_same_entries(office: Office) -> None:
    """Replay: rules are functions of the floor, the act and its time."""
    other = Office()
    other.floor.rows["person"] = json.loads(json.dumps(office.floor.rows["person"]))
    for one in (office, other):
        one.act("person-proposed", DORA, **NEW)
        one.act("person-enabled", CARLA, id="hugo")
        one.act("remote-opened", BORIS, id="hugo", minutes=3, reason="x")
    assert office.floor.entries == other.floor.entries


def test_who_can_enable_can_be_found_in_every_department_that_needs_one() -> None:
    assert PROPOSERS < ENABLERS
    assert not ENABLERS & {Role.SUPERVISOR, Role.TECHNICIAN}


