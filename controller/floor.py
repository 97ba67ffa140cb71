"""The books of one floor: every message in its turn becomes an entry, or is refused. Pure; reads no clock, does no I/O.

``take`` is the whole engine: sequence (held, duplicate, fault), rounds and meters. ``drain`` hands over what must be
made durable; nothing may be acknowledged or shown before that is done (design sections 4, 5 and 8).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from controller import award, rounds
from controller.acts import Acted
from controller.changes import Changes
from controller.floor_state import (
    Boot,
    Meter,
    Round,
    StateRow,
    Table,
    boot_from,
    canonical,
    idle_boots,
    meter_from,
    round_from,
    table_from,
    written,
)
from controller.journal import RULES_VERSION, TABLE_RULES, Entry, Posting, post
from controller.links import note_links, tell_tables
from controller.money import MICROCENTS_PER_CENT
from controller.plan import FloorPlan, TablePlan
from controller.refusal import Refusal
from controller.resets import take_freed
from controller.rounds import Done
from controller.taken import Asked, DayEnd, Recalled, Taken
from controller.waiting_config import follow_resets, tell_meters
from firmware_bridge.messages import Close, Count, Hits, Lock, Malformed, Notice, Numbered, Void, content

HELD_MAX = 64
SAID_KEPT = 64
FAULTS_KEPT = 16
BOOTS_KEPT = 8
"""Boots of one unit that stay in memory; older ones are read from the ledger when they speak again."""
GAMES_KEPT = 64
"""Closed games with a hit that stay in memory; others are read from the ledger when people speak of them."""
ENTRIES_KEPT = 256
"""Entries that a game names: its hits, and what people did about it."""
CROWD = 8
"""Boots with held messages stay too, unless a unit has so many times more boots than are kept."""

STATE_KINDS = frozenset(("meter", "table", "boot", "award", "book", "head"))
"""Kinds of state rows that are the floor's own; every other kind is kept by ``keep``."""
_TOLD = frozenset(("display", "reserve", "overflow", "pending"))
_KIND = {Lock: "lock", Count: "count", Hits: "hits", Close: "close", Void: "void", Notice: "notice"}


class Floor:
    """One book's floor state. Not safe for threads: one owner applies messages one after the other."""

    plan: FloorPlan

    def __init__(self, book: str) -> None:
        self.book = book
        self.plan_entry = 0
        self.number = 0
        self.rules = RULES_VERSION
        """The version of the rules by which entries are made: the newest, but where old ones are replayed."""
        self.stopped = ""
        self.awards_pending = 0
        self.meters: dict[str, Meter] = {}
        self.known_meters: set[str] = set()
        self.tables: dict[str, Table] = {}
        self._meters_aside: dict[str, Meter] = {}
        self._tables_aside: dict[str, Table] = {}
        self.boots: dict[tuple[str, str], Boot] = {}
        self.games: dict[str, Round] = {}
        """Closed games of which more than the wagers is known, by ``table/game``."""
        self.rows: dict[str, dict[str, dict[str, Any]]] = {}
        """What people have made, by kind and key (``keep``)."""
        self.acts: dict[str, tuple[str, Acted]] = {}  # by id: its content, and what came of it
        self.day_end: DayEnd | None = None
        """The gaming day that people are about to close, as the ledger has it."""
        self.entries: list[Entry] = []
        self._changes = Changes()
        self._resets: set[str] = set()
        self._boots_elsewhere = False

    # ------------------------------------------------------------------ a book is made, loaded and handed over

    @classmethod
    def opened(cls, plan: FloorPlan, book: str = "main", at: int = 0, made_by: str = "apply") -> "Floor":
        """A fresh book: its first entries name the site, keep the configuration and open each meter at its base."""
        floor = cls(book)
        first = {"environment": plan.environment.value, "made_by": made_by, "site": plan.site}
        floor.enter("init", at, body=first)
        floor.configure(plan, at)
        for meter in floor.meters.values():
            floor.open_meter(meter, at)
        return floor

    def configure(self, plan: FloorPlan, at: int, **more: Any) -> None:
        """Keep an effective configuration as an entry (``more`` too); rounds locked from now on are settled under it.

        A meter that is new by it is there only when people have opened it (R-44).
        """
        if self.plan_entry:
            for one in plan.meters.values():
                if one.book == self.book and one.id not in self.known_meters:
                    self.keep("unopened", one.id, {"since": self.number + 1})
                    self._changes.meters.add(one.id)
            if self.rules >= TABLE_RULES:
                note_links(self, plan)
        self.enter("config", at, body={"document": dict(plan.document), "hash": plan.hash, **more})
        self.plan_entry = self.number
        self.adopt(plan)

    def adopt(self, plan: FloorPlan) -> None:
        """Work under a plan from now on. What it no longer names is set aside, and comes back as it was."""
        self.plan = plan
        meters, tables = self.meters | self._meters_aside, self.tables | self._tables_aside
        self.meters = {one.id: meters.pop(one.id) if one.id in meters else Meter(one)
                       for one in plan.meters.values() if one.book == self.book}
        self.tables = {one.id: tables.pop(one.id) if one.id in tables else Table(one)
                       for one in plan.tables.values() if one.book == self.book}
        self._meters_aside, self._tables_aside = meters, tables
        self.known_meters |= self.meters.keys()
        for name, meter in self.meters.items():
            meter.plan = plan.meters[name]
        for name, table in self.tables.items():
            table.follow(plan.tables[name])
        self._look_at_rows()

    def _look_at_rows(self) -> None:
        """What follows from rows that people have made: which tables are shut, which keys wait for a reset."""
        tell_tables(self)
        tell_meters(self)

    def open_meter(self, meter: Meter, at: int) -> None:
        """The house lays a meter's base on it (R-38, R-43)."""
        base = meter.plan.base_cents
        moves = (("house", -base * MICROCENTS_PER_CENT), ("display", base * MICROCENTS_PER_CENT))
        body = {"base_cents": base, "meter": meter.plan.id, "seed_cents": meter.plan.seed_cents}
        self.enter("opening", at, body=body, postings=post(meter, moves))
        self._changes.meters.add(meter.plan.id)

    @classmethod
    def loaded(
        cls, plan: FloorPlan, book: str, rows: Iterable[StateRow], number: int, plan_entry: int,
        plans: Mapping[int, FloorPlan], *, boots_elsewhere: bool,
    ) -> "Floor":
        """A book from its state rows. ``plans`` has older versions under which open rounds were locked."""
        floor = cls(book)
        floor.adopt(plan)
        floor.number, floor.plan_entry, floor._boots_elsewhere = number, plan_entry, boots_elsewhere
        for row in rows:
            floor._load_row(row, plans)
        floor._look_at_rows()
        return floor

    def _load_row(self, row: StateRow, plans: Mapping[int, FloorPlan]) -> None:
        made = json.loads(row.body)
        if row.kind == "meter":
            self.known_meters.add(row.key)
        if row.kind == "meter" and row.key in self.meters:
            self.meters[row.key] = meter_from(self.plan.meters[row.key], made)
        elif row.kind == "table" and row.key in self.tables:
            version = plans.get(made["open"]["plan_entry"]) if made["open"] else None
            self.tables[row.key] = table_from(
                self.plan.tables[row.key], made, version.tables[row.key] if version else None)
        elif row.kind == "boot":
            device, boot = row.key.split("/")
            self.boots[device, boot] = boot_from(device, boot, made)
        elif row.kind == "book":
            self.stopped, self.awards_pending = made["stopped"], made["awards_pending"]
        elif made is not None and row.kind not in STATE_KINDS:
            self.rows.setdefault(row.kind, {})[row.key] = made

    def drain(self) -> tuple[list[Entry], list[StateRow]]:
        """The entries made since the last drain, and the state rows that they changed."""
        entries, self.entries = self.entries, []
        of_book = {"awards_pending": self.awards_pending, "stopped": self.stopped}
        meters, tables = self.meters | self._meters_aside, self.tables | self._tables_aside
        return entries, self._changes.rows(self.number, meters, tables, self.boots, self.book, of_book)

    def forget(self, durable: int, boots_kept: int = BOOTS_KEPT) -> None:
        """Let go of what the ledger can tell: what was said up to entry ``durable``, but the latest, and old boots."""
        count: dict[str, int] = {}
        for key, boot in self.boots.items():
            count[key[0]] = count.get(key[0], 0) + 1
            if len(boot.said) > SAID_KEPT:
                for seq in list(boot.said)[:-SAID_KEPT]:
                    if boot.said[seq][2] > durable:
                        break
                    del boot.said[seq]
        for device in [device for device, boots in count.items() if boots > boots_kept]:
            self._forget_boots(device, durable, boots_kept)
        if boots_kept <= BOOTS_KEPT:
            for game in [game for game in self.games if game not in self._changes.awards][:-GAMES_KEPT]:
                del self.games[game]
            for done in [act for act, (_, acted) in self.acts.items() if acted.entry <= durable][:-SAID_KEPT]:
                del self.acts[done]

    def _forget_boots(self, device: str, durable: int, kept: int) -> None:
        boots = {key: boot for key, boot in self.boots.items() if key[0] == device}
        for key in idle_boots(boots, self._changes.boots, durable, kept, CROWD):
            del self.boots[key]
            self._boots_elsewhere = True

    # ------------------------------------------------------------------ what the ledger must be asked first

    def asks(self, message: Numbered) -> Sequence[Asked]:
        """What must be looked up before ``take``: mostly nothing (design section 8)."""
        boot = self.boots.get((message.device, message.boot))
        if boot is not None and message.seq == boot.next and not self._boots_elsewhere:
            return ()
        asked = []
        if boot is None:
            if self._boots_elsewhere:
                asked.append(Asked(message.device, message.boot, message.seq))
        elif message.seq < boot.next and message.seq not in boot.said:
            asked.append(Asked(message.device, message.boot, message.seq))
        if self._boots_elsewhere:
            freed = boot.held.values() if boot is not None and message.seq == boot.next else ()
            named = {getattr(each, "round_boot", message.boot) for each in (message, *freed)} - {message.boot}
            unknown = [name for name in sorted(named) if (message.device, name) not in self.boots]
            asked += [Asked(message.device, name, None) for name in unknown]
        return asked

    def remember(self, asked: Asked, told: Recalled) -> None:
        """Take in what the ledger said."""
        key = (asked.device, asked.boot)
        if key not in self.boots and told.state is not None:
            self.boots[key] = boot_from(*key, told.state)
        if asked.seq is not None and told.content is not None and key in self.boots:
            self.boots[key].said[asked.seq] = (told.content, told.reason, told.entry)

    # ------------------------------------------------------------------ messages

    def hear(self, device: str, boot: str, at: int) -> Boot:
        """A readable message of a boot: when it is the first, that is an entry (the order of boots matters)."""
        known = self.boots.get((device, boot))
        if known is None:
            self.enter("heard", at, device=device, boot=boot, table=self.plan.table_of_device[device].id)
            known = self._new_boot(device, boot, self.number)
        return known

    def _new_boot(self, device: str, boot: str, number: int) -> Boot:
        made = self.boots[device, boot] = Boot(heard=number)
        self._changes.boots.add((device, boot))
        return made

    def take(self, message: Numbered, at: int) -> list[Taken]:
        """Take one numbered message: its own answer first, then those of held ones whose turn has come.

        Ask ``asks`` first, and ``remember`` what the ledger says. Raises BrokenInvariant when the books do not add up.
        """
        boot = self.boots.get((message.device, message.boot))
        if boot is None:
            boot = self._new_boot(message.device, message.boot, self.number + 1)
        if message.seq < boot.next:
            return [self._repeated(boot, message, at)]
        if message.seq > boot.next:
            return [self._ahead(boot, message, at)]
        taken = [self.in_turn(boot, message, at)]
        taken += self.held_in_turn(boot, at)
        return taken

    def held_in_turn(self, boot: Boot, at: int) -> list[Taken]:
        """Post or refuse what was held, as far as its turn has come."""
        taken = []
        while boot.held and boot.next in boot.held:
            taken.append(self.in_turn(boot, boot.held.pop(boot.next), at))
        return taken

    def _repeated(self, boot: Boot, message: Numbered, at: int) -> Taken:
        known = boot.said.get(message.seq)
        text = content(message)
        if known is not None and known[0] == text:
            return Taken(message.device, message.boot, message.seq, "duplicate", first=known[1])
        # One that the ledger does not know was given up as lost, and people accepted that: evidence, never a wager.
        return self._fault(boot, message, text, at)._replace(posted_before=True)

    def _fault(self, boot: Boot, message: Numbered, text: str, at: int) -> Taken:
        """The same number with other content: kept as evidence, once for each content, the first few of a boot."""
        digest = sha256(text.encode()).hexdigest()[:32]
        if digest not in boot.faults and len(boot.faults) < FAULTS_KEPT:
            body = {"message": written(message), "reason": Refusal.CONTENT_DIFFERS.value, "seq": message.seq}
            self._enter_of("fault", message, at, body, keyed=False)
            boot.faults = [*boot.faults, digest]
            self._changes.boots.add((message.device, message.boot))
        return Taken(message.device, message.boot, message.seq, "fault", Refusal.CONTENT_DIFFERS.value)

    def _ahead(self, boot: Boot, message: Numbered, at: int) -> Taken:
        waiting = boot.held.get(message.seq)
        if waiting is not None:
            if content(waiting) == content(message):
                return Taken(message.device, message.boot, message.seq, "held")
            return self._fault(boot, message, content(message), at)
        if len(boot.held) >= HELD_MAX:
            reason = Refusal.TOO_FAR_AHEAD.value
            return Taken(message.device, message.boot, message.seq, "refused", reason, meters=())
        boot.held[message.seq] = message
        kept = {"message": written(message), "seq": message.seq}
        boot.last = self._enter_of("held", message, at, kept, keyed=False).number
        self._changes.boots.add((message.device, message.boot))
        return Taken(message.device, message.boot, message.seq, "held")

    def in_turn(self, boot: Boot, message: Numbered, at: int) -> Taken:
        """Post or refuse a message whose turn it is: one entry, all or nothing."""
        table = self.tables[self.plan.table_of_device[message.device].id]
        done = self._do(table, boot, message, at)
        text = content(message)
        reason = ""
        if isinstance(done, Refusal):
            reason = done.value
            body = canonical({"message": written(message), "reason": reason})
            entry = self._enter_of("refused", message, at, body)
            taken = Taken(message.device, message.boot, message.seq, "refused", reason, entry.number, meters=(),
                          lock=isinstance(message, Lock))
        else:
            body = f'{{"message":{text},{done.body}}}' if done.body else f'{{"message":{text}}}'
            self.number += 1
            entry = Entry(
                self.book, self.number, at, _KIND[type(message)], table.plan.id, done.game, message.device,
                message.boot, message.seq, self.rules, body, tuple(done.postings))
            self.entries.append(entry)
            taken = self._posted(message, entry, done)
        if type(message) is Lock:
            boot.wagers_total += len(message.wagers)
        boot.said[message.seq] = (text, reason, entry.number)
        boot.next = message.seq + 1
        boot.last = entry.number
        self._changes.boots.add((message.device, message.boot))
        if self._resets:
            self.follow_resets(at)
        return taken

    def _do(self, table: Table, boot: Boot, message: Numbered, at: int) -> Done | Refusal:
        before = table.open
        if isinstance(message, Lock):
            done = rounds.lock(self.plan, self.plan_entry, self.meters, table, boot, message, at, self.rules)
        elif isinstance(message, Malformed):
            return Refusal.MALFORMED
        elif isinstance(message, Notice):
            return Done(game=table.open.game if table.open is not None else None)
        else:
            done = self._do_in_round(table, message, at)
        if not isinstance(done, Refusal):
            self._changes.meters.update(done.touched)
            self._changes.tables.add(table.plan.id)
            if before is not None and before is not table.open and before.told:
                self.games[before.key] = before
                self.touch_round(before)
        return done

    def _do_in_round(self, table: Table, message: Count | Hits | Close | Void, at: int) -> Done | Refusal:
        known = self.boots.get((message.device, message.round_boot))
        open_round = rounds.find_open(table, known.newest if known else 0, message.round_boot, message.round)
        if isinstance(open_round, Refusal):
            return open_round
        if isinstance(message, Count):
            return rounds.count(open_round, message)
        if isinstance(message, Close):
            return rounds.close(self.meters, table, open_round)
        if isinstance(message, Void):
            return rounds.void(self.meters, table, open_round)
        before = award.waiting(open_round)
        done = rounds.hits(self.meters, open_round, message, at, self.rules)
        if not isinstance(done, Refusal):
            self.touch_round(open_round, before)
        return done

    def _posted(self, message: Numbered, entry: Entry, done: Done) -> Taken:
        changed = dict.fromkeys([posting[0] for posting in entry.postings if posting[1] in _TOLD])
        meters = tuple([(name, *self.meters[name].shown()) for name in changed])
        game = None if type(message) is Notice else done.game
        return Taken(
            message.device, message.boot, message.seq, "posted", "", entry.number, game, done.answer, meters,
            lock=type(message) is Lock)

    # ------------------------------------------------------------------ what people and the daemon enter

    def stop(self, reason: str, at: int) -> None:
        """The book stops (fail closed) until a person clears it."""
        self.stopped = reason
        self.enter("stop", at, body={"reason": reason})
        self._changes.book = True

    def clear(self, reason: str, at: int) -> None:
        """A person has cleared a stopped book."""
        was, self.stopped = self.stopped, ""
        self.enter("clear", at, body={"reason": reason, "was": was})
        self._changes.book = True

    # ------------------------------------------------------------------ entries

    def enter(
        self, kind: str, at: int, *, table: str | None = None, game: int | None = None, device: str | None = None,
        boot: str | None = None, seq: int | None = None, body: Mapping[str, Any] | str = "{}",
        postings: Iterable[Posting] = (),
    ) -> Entry:
        """Make the next entry of the book."""
        self.number += 1
        text = body if isinstance(body, str) else canonical(body)
        entry = Entry(
            self.book, self.number, at, kind, table, game, device, boot, seq, self.rules, text, tuple(postings))
        self.entries.append(entry)
        return entry

    def _enter_of(
        self, kind: str, message: Numbered, at: int, body: Mapping[str, Any] | str, done: Done | None = None,
        *, keyed: bool = True,
    ) -> Entry:
        table = self.plan.table_of_device[message.device].id
        return self.enter(
            kind, at, table=table, game=done.game if done else None, device=message.device, boot=message.boot,
            seq=message.seq if keyed else None, body=body, postings=done.postings if done else ())

    # ------------------------------------------------------------------ what changed, for the ledger's rows

    def keep(self, kind: str, key: str, body: dict[str, Any] | None) -> None:
        """Keep a row of state of some other kind; None: there is nothing to keep of it any more."""
        rows = self.rows.setdefault(kind, {})
        if body is None:
            rows.pop(key, None)
        else:
            rows[key] = body
        self._changes.made[kind, key] = body
        if kind in ("unopened", "retired", "config"):
            self._look_at_rows()

    def note_resets(self, meters: set[str]) -> None:
        """These meters were reset, or have ended: what waits for it acts with the entry made next."""
        self._resets |= meters if "config" in self.rows else set()

    def follow_resets(self, at: int) -> None:
        """Let what waited for the resets that were noted act from here on."""
        resets, self._resets = self._resets, set()
        if resets:
            follow_resets(self, resets, at)

    def opened_meters(self) -> set[str]:
        """The meters of this book that its beginning, or people, have opened."""
        return self.meters.keys() - set(self.unopened())

    def unopened(self) -> Iterable[str]:
        """The meters that are new by a configuration, and not there until people have opened them."""
        return self.rows.get("unopened", {})

    def touch_meters(self, *meters: str) -> None:
        """These meters have changed."""
        self._changes.meters.update(meters)

    def touch_table(self, table: str) -> None:
        """This table has changed."""
        self._changes.tables.add(table)

    def touch_boot(self, device: str, boot: str) -> None:
        """This boot has changed."""
        self._changes.boots.add((device, boot))

    def touch_round(self, found: Round, waiting_before: int | None = None) -> None:
        """A round has changed by the entry that is made next; ``waiting_before``: its awards that waited for people."""
        if rounds.count_owed(self.tables[found.plan.id], found, self.rules):
            self._changes.tables.add(found.plan.id)
        if self.tables[found.plan.id].open is not found:
            self.note_resets(take_freed(found, self.rules))
        if found.told:
            found.entries = [*found.entries, self.number + 1][-ENTRIES_KEPT:]
            self._changes.awards[found.key] = rounds.award_row(found, self.number + 1)
        table = self.tables[found.plan.id]
        if table.open is found:
            self._changes.tables.add(found.plan.id)
        if waiting_before is not None:
            self.awards_pending += award.waiting(found) - waiting_before
            self._changes.book = True
            others = [one for one in table.held_by if one[0] != found.game]
            held_by = others + award.holding(found)
            if held_by != table.held_by:
                table.held_by = held_by
                self._changes.tables.add(found.plan.id)

    def find_game(self, key: str) -> Round | None:
        """A game by ``table/game``, open or closed, as far as it is in memory."""
        table = self.tables.get(key.rpartition("/")[0])
        if table is not None and table.open is not None and table.open.key == key:
            return table.open
        return self.games.get(key)

    def remember_game(self, made: dict[str, Any], plan: TablePlan) -> None:
        """Take in a closed game from its row; ``plan`` is its table under the version it was locked under."""
        found = round_from(made, plan)
        self.games.setdefault(found.key, found)
