"""A chapter in which everything happens at random: who is there, who hears what, takes, undo, crashes."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from core.context.carry_over import label_in
from core.domain.errors import IllegalCommandError
from core.domain.ids import SessionId, new_uuid
from core.domain.requests.request import ReplyRequest
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.event import Role
from core.domain.story.memory import BlockType, compact_json
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.services.takes.memory_commands import LockMark
from core.exchange.session_copy import as_new_session
from core.exchange.session_export import from_json, read_body, to_json
from tests.leaks import again, bank, windows
from tests.leaks.canaries import (
    Ledger,
    Slots,
    audience_of,
    look_back,
    slots_of,
    tokens_in,
)
from tests.leaks.lore import uses_are_those_stored
from tests.leaks.marks import is_kept, mark_some, never_sent, never_sent_now, new_scene
from tests.leaks.random_setting import RandomSetting
from tests.leaks.stored import Stored, read_stored

NEXT_STEPS = 5
"""Steps of the chapter after, at most."""


class RandomChapter(RandomSetting):
    """One chapter and its GM, and some of the chapter after it."""

    async def play(self, steps: int, *, until_leak: bool = False) -> Ledger:
        """Play a chapter of random steps, or of those to its first leak; return what was found."""
        await self._begin()
        for _ in range(steps):
            await self.draw.choice(self.steps)()
            await self._settle()
            await self._check()
            if until_leak and self.ledger.leaks:
                break
        else:
            await self._end()
        await windows.close_second(self)
        await self.session.aclose()
        await self.store.aclose()
        return self.ledger

    @property
    def steps(self) -> list[Callable[[], Awaitable[object]]]:
        return [
            *[self._submit] * 7,
            *(self._whisper, self._whisper, self._to_some, self._to_some, self._leave_or_come),
            *(self._leave_for_a_while, self._leave_for_a_while, self._let_be_silent),
            *(self._narrate, self._reveal, self._reroll, self._undo, self._undo, self._redo),
            *(self._choose, self._correct, self._rebuild, self._pin, self._fail, self._break, self._crash),
            *(self._crash, self._restart, self._branch, self._move, self._correct_canon),
            *(self._idle, self._strike, self._pin, self._pin),
            *[partial(mark_some, self)] * 4,
            partial(new_scene, self),
            *[partial(bank.change, self)] * 3,
            partial(bank.switch, self),
            *[partial(again.tell_again, self)] * 2,
            *(partial(one, self) for one in (again.edit_block, again.change_item, again.keep_slot)),
            partial(again.go_back, self),
            *(windows.steps(self) if self.has_two_windows else ()),
        ]

    # What the GM does.

    async def _submit(self, heard_by: Slots | None = None) -> None:
        slot, *then = self.draw.sample(self.cast, self.draw.choice([1, 1, 2, self.count]))
        hearers = (self.here if heard_by is None else heard_by) | {slot, *then}
        token = self.ledger.new(hearers)
        audience = None if heard_by is None else audience_of(heard_by)
        await self._try(self.session.submit_prompt, slot, f"What of {token}?", heard_by=audience, then=then)

    async def _whisper(self) -> None:
        await self._submit(frozenset())

    async def _to_some(self) -> None:
        await self._submit(self._some())

    async def _leave_or_come(self) -> None:
        named = self._some()
        self.away = {slot: back_at for slot, back_at in self.absent.items() if slot not in named}
        self.present = named | (self.present & self.away.keys())
        await self.session.scene.set_present([Slot(slot) for slot in named])

    @property
    def absent(self) -> dict[int, int]:
        """Those who are away at the next prompt."""
        following = self.session.snapshot.session.prompt_index + 1
        return {slot: back for slot, back in self.away.items() if back == 0 or following < back}

    @property
    def here(self) -> Slots:
        return self.present - self.absent.keys()

    async def _leave_for_a_while(self) -> None:
        slot, last = self.draw.choice(self.cast), self.session.snapshot.session.prompt_index
        if slot in self.absent:
            await self._try(self.session.scene.set_present, [Slot(one) for one in self.here | {slot}])
            self.away = {one: back for one, back in self.absent.items() if one != slot}
            self.present |= {slot}
        elif len(self.absent) + 1 < self.count:
            back_at = self.draw.choice([0, last + 2, last + 3])
            self.away = {**self.absent, slot: back_at}
            await self.session.scene.set_away({Slot(one): back for one, back in self.away.items()})

    async def _let_be_silent(self) -> None:
        await self.session.scene.set_silence([Slot(slot) for slot in self._some()])

    async def _narrate(self) -> None:
        hearers = self.draw.choice([None, self._some()])
        token = self.ledger.new(self.here if hearers is None else hearers)
        slots = None if hearers is None else [Slot(slot) for slot in hearers]
        await self._try(self.session.scene.narrate, f"It snows {token}.", hearers=slots)

    async def _reveal(self) -> None:
        secret = self.draw.choice(self.session.snapshot.secrets)
        to = self._some()
        [token] = tokens_in(secret.text)
        self.reveals.append((token, to))
        await self._try(self.session.scene.reveal, secret.number, [Slot(slot) for slot in to])

    async def _reroll(self) -> None:
        await self._try(self.session.takes.reroll)

    async def _correct(self) -> None:
        label = self._newest_label()
        if label is not None:
            await self._try(self.session.takes.correct_reply, f"By hand {self.ledger.new(label)}.")

    def _newest_label(self) -> Slots | None:
        """Return who heard the newest prompt, by the token in it."""
        last = self.session.snapshot.session.prompt_index
        prompts = [one for one in self.session.snapshot.recent if one.place == (last, 0)]
        return self.ledger.common(tokens_in(prompts[0].text)) if prompts and last else None

    async def _undo(self) -> None:
        await self._try(self.session.takes.undo)

    async def _redo(self) -> None:
        await self._try(self.session.takes.redo)

    async def _choose(self) -> None:
        takes = await self.session.takes.listed()
        if len(takes) > 1 and takes[0][0].prompt_index:
            await self._try(self.session.takes.choose, self.draw.choice(takes)[0].take)

    async def _idle(self) -> None:
        """Let time pass without a key; a character may add something."""
        task, label = self.session.afterthoughts._task, self._newest_label()
        if task is None or task.done() or label is None:
            return
        self.model.adds_for = label
        await self.hours.begun()
        seconds = self.draw.choice([10, 60, 400])
        await self.hours.pass_by(seconds, lambda: self.session.afterthoughts._task)

    async def _strike(self) -> None:
        await self._try(self.session.takes.strike_afterthought)

    async def _correct_canon(self) -> None:
        hearers = self._some()
        await self._try(
            self.session.edits.correct_canon,
            f"In truth {self.ledger.new(hearers)}.",
            audience=audience_of(hearers),
        )

    async def _rebuild(self) -> None:
        blocks = await self.session.reads.memory_blocks()
        deltas = [block.last for block in blocks if block.type is BlockType.TURN_DELTA]
        if deltas:
            await self._try(self.session.takes.rebuild_block, self.draw.choice(deltas))

    async def _pin(self) -> None:
        """Pin a canon lock of some block, which may be a private one."""
        locks = [
            lock
            for block in await self.session.reads.memory_blocks()
            if block.type is BlockType.TURN_DELTA
            for lock in block.payload.get("canon_locks", ())  # type: ignore[attr-defined]
        ]
        if locks:
            lock = self.draw.choice(locks)
            await self._expected()
            await self._try(self.session.takes.mark_lock, lock, LockMark.PINNED)
            if lock in self.session.snapshot.session.pinned:
                self.ledger.pin(lock)

    async def _fail(self) -> None:
        """Fail the next prompt, and retry it."""
        self.model.failures = 1
        await self._submit()
        await self._settle()
        self.model.failures = 0
        failed = self.session.snapshot.failed(ReplyRequest)
        if failed and self.draw.random() < 0.8:
            await self._try(self.session.retry, failed[-1].id)
        elif self.session.snapshot.further_reply in failed:
            await self._try(self.session.takes.leave_out, failed[-1].id)

    async def _break(self) -> None:
        """Answer the next summary with invalid JSON first, so that a repair is requested."""
        self.model.broken = 1

    async def _crash(self) -> None:
        is_in_memory = self.draw.random() < 0.5
        await self._die_while(lambda request: (request.schema is not None) is is_in_memory)

    async def _die_while(self, holds: Callable[..., bool]) -> None:
        """Kill the program while a call runs that is held up; otherwise between two steps."""
        held = asyncio.Event()
        self.model.holds, self.model.held = holds, held.set
        await self._submit(self.draw.choice([None, self._some()]))
        waiting = asyncio.ensure_future(held.wait())
        idle = asyncio.ensure_future(self.session.wait_idle())
        await asyncio.wait({waiting, idle}, return_when=asyncio.FIRST_COMPLETED, timeout=60)
        for task in (waiting, idle):
            task.cancel()
        self.model.holds = lambda _: False
        await self._kill()

    async def _kill(self) -> None:
        """Let everything stop where it is, in each window, without a word, and open the chapter again."""
        self.crashes += 1
        current = asyncio.current_task()
        tasks = [task for task in asyncio.all_tasks() - self.earlier if task is not current]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await windows.open_again(self)

    async def _restart(self) -> None:
        await self.session.aclose()
        self.session = await self.engine.open(self.session.id)

    async def _branch(self) -> None:
        """Go on in a branch; who is present there is what the prompt of the branch says."""
        last = self.session.snapshot.session.prompt_index
        if not last:
            return
        await again.forget_pins(self)
        await self.session.aclose()
        await self._go_on_in(await self.engine.branch(self.session.id, self.draw.randint(1, last)))

    async def _move(self) -> None:
        """Go on in an import of the chapter's own export."""
        await self.session.aclose()
        body = from_json(to_json(await read_body(self.store, self.session.id)))
        fresh = SessionId(new_uuid())
        await self.store.chapters.create(as_new_session(body, fresh))
        await self._go_on_in(fresh)

    async def _go_on_in(self, session_id: SessionId) -> None:
        await windows.close_second(self)
        self.session = await self.engine.open(session_id)
        self.present = slots_of(self.session.snapshot.session.present) & self.ledger.cast
        self.away = {int(slot): back for slot, back in self.session.snapshot.session.away.items()}

    async def _end(self) -> None:
        """End the chapter, and write it once for each viewpoint; begin the next one, and play some of it."""
        if not await self._is_ended():
            return
        await look_back(self.engine, self.session, self.model)
        await bank.keep_quotes(self)
        self.model.never_sent = partial(never_sent_now, self)
        for slot in self.cast:
            self.model.viewpoint = slot.value
            await self.session.wait(await self.session.build_narrative(viewpoint=slot))
        self.model.viewpoint = None
        await self._hand_on()
        await self._play_next()
        if self.draw.random() < 0.3 and await self._is_ended():
            await self._hand_on()
            await self._play_next()

    async def _is_ended(self) -> bool:
        """End the chapter if anything was played; return whether it has ended."""
        if self.session.snapshot.session.prompt_index == 0:
            return False
        await self._settle()
        await self._try(self.session.end_chapter)
        await self._settle()
        return self.session.snapshot.session.state is SessionState.ENDED

    async def _hand_on(self) -> None:
        """Begin the next chapter: what it takes over is known to those alone who may know it."""
        await self._expected()
        following = await self.engine.library.books.next_chapter(self.session.id)
        begun = await self.store.load(following)
        for line in begun.tab1.carried.lines:
            for slot in slots_of(label_in(begun.session, line)) & self.ledger.cast:
                self.ledger.check(line.text, slot, "the next chapter", set())
        await self.session.aclose()
        await self._go_on_in(following)

    async def _play_next(self) -> None:
        """Play some of the next chapter, in which somebody may be new and two may have changed places."""
        places: dict[int, int | None] = {int(slot): int(slot) for slot in self.cast}
        first, second = (int(slot) for slot in self.draw.sample(self.cast, 2))
        match self.draw.choice(["as before", "somebody is new", "two change places"]):
            case "somebody is new":
                places[first] = None
            case "two change places":
                places[first], places[second] = second, first
        self.ledger.begin_next(places)
        self.ledger.labels |= self.of_tab1
        self.reveals, self.carried = [], set()
        self.strangers += 1
        was = self.session.snapshot.session
        names = {
            slot: f"Stranger {self.strangers}" if before is None else was.name_of(Slot(before))
            for slot in self.cast
            if (before := places[int(slot)]) != slot
        }
        profiles = {
            slot: replace(profile, aliases=()) if places[int(slot)] is None else profile
            for slot, profile in self.session.snapshot.tab1.profiles.items()
        }
        await self.session.edits.edit_tab1(Tab1Edit(chapter="It goes on.", names=names, profiles=profiles))
        await self.session.scene.edit_secrets([self._secret(number) for number in (1, 2)])
        await self.session.wait(await self.session.lock())
        for _ in range(self.draw.randint(1, NEXT_STEPS)):
            await self.draw.choice(self.steps)()
            await self._settle()
            await self._check()

    # What must hold.

    async def _try(self, command: Callable[..., Awaitable[object]], *values: object, **more: object) -> None:
        """Run a command and ignore a refusal; `_settle` waits for its request."""
        try:
            await command(*values, **more)
        except IllegalCommandError:
            return

    async def _settle(self) -> None:
        async with asyncio.timeout(60):
            await self.session.wait_idle()
            await self.session.keeping.wait_until_read()

    async def _expected(self) -> set[str]:
        """Return the tokens of canon as it is stored, and note which secrets it reveals to whom.

        They are to be in every input of those who may know them; not those of a prompt of which another take
        is asked for.
        """
        return self._expected_in(await read_stored(self.store, self.session.id))

    def _expected_in(self, stored: Stored) -> set[str]:
        open_ = [one for one in stored.snapshot.open_prompts if one.is_processing]
        replaced = {one.prompts.last for one in open_ if one.prompts is not None and one.is_take}
        canon = [event for event in stored.played if event.prompt_index not in replaced]
        self.ledger.told = {}
        for event in canon:
            if event.role is Role.SYSTEM:
                for token in tokens_in(event.text) & self.ledger.secrets.keys():
                    heard = slots_of(event.audience) & self.ledger.cast
                    assert (token, heard) in self.reveals, "a secret was revealed to others than those meant"
                    self.ledger.told[token] = self.ledger.told.get(token, frozenset()) | heard
        again.heard_again(self, stored)
        told = {token for event in canon for token in tokens_in(event.text)} - self.hidden
        return told | self.ledger.secrets.keys() | self.carried

    async def _check(self) -> None:
        """Check memory, previews, and what a reader sees as one of the characters."""
        stored = await read_stored(self.store, self.session.id)
        expected, secrets = self._expected_in(stored), set(self.ledger.secrets)
        for block in (*stored.blocks, *stored.revisions):
            spared = secrets if block in stored.blocks else secrets | self.ledger.told_again
            for token in tokens_in(compact_json(block.payload)) - spared:
                if not slots_of(block.audience) & self.ledger.cast <= self.ledger.label_of(token):
                    self.ledger.leaks.append(f"a block for {block.audience.mask} has {token}")
        self.ledger.leaks += bank.mislabelled(self, stored)
        assert await uses_are_those_stored(self.session, self.store)
        slot = self.draw.choice(self.cast)
        context = await self.engine.preview(self.session.id, slot, "And now?")
        told = "\n".join(message.content for message in context.messages)
        sent = never_sent(stored) & tokens_in(told)
        self.ledger.leaks += [f"the preview has {token}, which is never sent" for token in sent]
        assert is_kept(self.session, stored)
        await windows.check_second(self, stored)
        due = [one for one in self.session.snapshot.secrets if one.reveal_at is not None]
        if not due:  # a preview has the secrets that the next prompt reveals; they are not canon yet
            self.ledger.check(told, slot.value, "the preview", expected | self.ledger.constant_lore)
        text = "\n".join(event.text for event in await self.session.newest_canon(known_to=slot))
        played = expected - self.ledger.secrets.keys() - self.carried
        self.ledger.check(text, slot.value, "what is seen", played)
