"""The state of a session in the memory of the window that writes it (design 6)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from core.context.bank import NO_BANK, ChapterBank
from core.context.lore import NO_LORE, ChapterLore
from core.context.visibility import (
    CharacterKnowledge,
    Knowledge,
    Secrets,
    Story,
    known_to,
    known_to_all_of,
    known_to_gm,
)
from core.domain.audience import Audience
from core.domain.bank.item import Item
from core.domain.requests.cost import FREE
from core.domain.requests.request import AnyRequest, BackgroundRequest, ReplyRequest, Request, total_cost
from core.domain.session.cast import Cast
from core.domain.session.lore import Lorebooks
from core.domain.session.prompt_block import NO_PROMPT_BLOCKS, PromptBlocks
from core.domain.session.session import Session, Tab1Inputs, title_from
from core.domain.slot import Slot
from core.domain.story.condensed import CondensedMemory
from core.domain.story.context_status import Statuses, always_of, in_scene, marked, with_statuses
from core.domain.story.event import Event, Role
from core.domain.story.memory import MemoryBlock, compact_old_deltas
from core.domain.story.reply_uses import LoreUse, uses_in
from core.domain.story.secret import Reveal, Secret, reveals_in, settled
from core.storage.changes import Changes

if TYPE_CHECKING:  # What reads lorebooks is loaded by the first chapter that has one.
    from core.library.lore.book import Lorebook

MAX_FULL_DELTAS: Final = 256
"""Number of the newest deltas that are kept complete; no input contains as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The state of a session in its writer's memory: everything that is needed to continue it.

    `recent` are the events of canon that are summarised with prompts after `recent_from(session,
    recent_prompts)`; `requests` are the open and the failed ones, oldest first. `blocks` is the result of
    `SessionStore.memory` once `is_memory_known`: a session opens without it, so that opening takes the same
    time for a long story.
    """

    session: Session
    tab1: Tab1Inputs
    prompt_blocks: PromptBlocks = NO_PROMPT_BLOCKS
    secrets: tuple[Secret, ...] = ()
    reveals: tuple[Reveal, ...] = ()
    """The reveals of secrets that are canon."""
    lore: Lorebooks = ()
    lore_books: Mapping[str, "Lorebook"] = field(default_factory=dict, compare=False, repr=False)
    """Contents of lorebooks that were read, by the hashes of their copies."""
    lore_uses: tuple[LoreUse, ...] | None = field(default=None, compare=False)
    """Active entries of canon replies; None until it is read."""
    unsent: Mapping[Slot, str] = field(default_factory=dict)
    blocks: tuple[MemoryBlock, ...] = ()
    condensed: tuple[CondensedMemory, ...] = ()
    """Condensed memory whose sources are canon."""
    recent: tuple[Event, ...] = ()
    statuses: Statuses = ()
    """The GM's statuses of events, in `recent` or not."""
    kept: tuple[Event, ...] = ()
    """The events of canon before `recent` that are always sent."""
    undone: tuple[Event, ...] = ()
    """The canon of prompts beyond `session.prompt_index`, which redo brings back."""
    takes: Mapping[int, int] = field(default_factory=dict)
    """The number of takes of each prompt after `recent_from` that has several or does not count."""
    requests: tuple[Request, ...] = ()
    draft_count: int = 0
    spent: Decimal = FREE
    """Known cost of all calls, in US dollars."""
    last_ordinal: int = 0
    """The ordinal of the last block of memory that ends at the boundary: a private delta or a correction."""
    is_memory_known: bool = True
    recent_prompts: int = 0
    """Least number of prompts in recent context; counts where it is more than a chunk; a setting."""
    is_recent_known: bool = True
    """Whether `recent` begins where it should: not after memory was withdrawn, until it is read again."""

    @property
    def open_requests(self) -> tuple[Request, ...]:
        """The requests of the play that are queued or that a model has, oldest first."""
        return tuple(one for one in self.requests if one.state.is_open and not one.spec.is_background)

    @property
    def background(self) -> tuple[BackgroundRequest, ...]:
        """The open requests beside the play, oldest first."""
        return tuple(one for one in self.requests if isinstance(one, BackgroundRequest) and one.state.is_open)

    @property
    def open_prompts(self) -> tuple[ReplyRequest, ...]:
        """The prompts among the open requests, oldest first."""
        return tuple(request for request in self.open_requests if isinstance(request, ReplyRequest))

    @property
    def further_reply(self) -> ReplyRequest | None:
        """The further reply to the newest prompt that is queued, runs or has failed."""
        replies = (one for one in self.requests if isinstance(one, ReplyRequest) and one.follows)
        return next(replies, None)

    def with_requests(self, *requests: Request) -> "Snapshot":
        """Return the snapshot with these requests as they are now."""
        return replace(self, requests=_merge(self.requests, requests))

    def failed(self, kind: type[AnyRequest]) -> tuple[AnyRequest, ...]:
        """Return the failed requests of a kind, oldest first."""
        return tuple(one for one in self.requests if isinstance(one, kind) and one.has_failed)

    @property
    def is_lore_known(self) -> bool:
        """Whether the lorebooks of the chapter were read, and what was active before."""
        books = self.lore_books
        return not self.lore or (
            self.lore_uses is not None and all(one.copy_hash in books for one in self.lore)
        )

    @property
    def title(self) -> str:
        """The title to show."""
        return title_from(self.session.title, self.tab1.chapter, self.tab1.world)

    @property
    def cast(self) -> Cast:
        """The characters, as the GM described them."""
        return Cast(self.session, self.tab1)

    def known_to(self, slot: Slot, bank: ChapterBank = NO_BANK) -> CharacterKnowledge:
        """Return what the character in `slot` may know; requires `is_memory_known` and `is_lore_known`."""
        return self._known_to(slot, self._recent_story(self.blocks), self._chapter_lore, bank)

    def events_known_to(self, slot: Slot) -> Sequence[Event]:
        """Return the events of recent context that the character in `slot` may know."""
        return self._known_to(slot, self._recent_story(())).events

    def known_without_lore(self, slot: Slot) -> CharacterKnowledge:
        """Return what the character in `slot` may know but for lore; requires `is_memory_known`."""
        return self._known_to(slot, self._recent_story(self.blocks))

    def chapter_known_to(
        self,
        slot: Slot | None,
        blocks: Sequence[MemoryBlock],
        events: Sequence[Event],
        quotes: Sequence[Item] = (),
    ) -> Knowledge:
        """Return what a character, or the GM, knows of the whole chapter, given all of it."""
        story = self._story(blocks, self.marked(events), quotes)
        return known_to_gm(story) if slot is None else self._known_to(slot, story)

    def known_to_all_of(
        self, audience: Audience, blocks: Sequence[MemoryBlock], events: Sequence[Event]
    ) -> Knowledge:
        """Return what each of `audience` may know of `blocks` and `events`."""
        return known_to_all_of(audience, self._story(self._told(blocks), self.marked(events)))

    def marked(self, events: Sequence[Event]) -> tuple[Event, ...]:
        """Return `events` with the GM's statuses: no model may be given events that did not pass here."""
        return marked(events, self.statuses)

    def _told(self, blocks: Sequence[MemoryBlock]) -> Sequence[MemoryBlock]:
        """Return memory with its condensed blocks, those that end within it."""
        if not self.condensed or not blocks:
            return blocks
        end = blocks[-1].last
        return (*blocks, *(one.block for one in self.condensed if one.last <= end))

    def _story(
        self, blocks: Sequence[MemoryBlock], events: Sequence[Event], quotes: Sequence[Item] = ()
    ) -> Story:
        secrets = Secrets(self.secrets_now, self.reveals)
        return Story(self.session, blocks, events, secrets, self.tab1.carried, quotes)

    def _recent_story(self, blocks: Sequence[MemoryBlock]) -> Story:
        """Return the story with recent context."""
        recent = in_scene(self.marked((*self.kept, *self.recent)), self.session.boundary)
        return self._story(self._told(blocks), recent)

    def _known_to(
        self, slot: Slot, story: Story, lore: ChapterLore = NO_LORE, bank: ChapterBank = NO_BANK
    ) -> CharacterKnowledge:
        cast = self.cast
        return known_to(cast[slot], story, cast.playing, lore, bank)

    @property
    def _chapter_lore(self) -> ChapterLore:
        if not self.lore:
            return NO_LORE
        if not self.is_lore_known:
            raise ValueError("the lorebooks of the chapter must be known")
        books = tuple((one, self.lore_books[one.copy_hash]) for one in self.lore)
        return ChapterLore(books, self.lore_uses or ())

    @property
    def secrets_now(self) -> tuple[Secret, ...]:
        """The secrets, known also to those who see their groups now; the lock settles who that is."""
        return self.settled(self.secrets)

    def settled(self, secrets: tuple[Secret, ...]) -> tuple[Secret, ...]:
        """Return secrets, known also to those of this chapter who see their groups now."""
        return settled(secrets, self.session.slots, self.tab1.profiles)

    def after(self, changes: Changes) -> "Snapshot":
        """Return the snapshot with `changes` applied."""
        session = changes.session or self.session
        start, before = (
            recent_from(session, self.recent_prompts),
            recent_from(self.session, self.recent_prompts),
        )
        recent, undone, reveals, uses = self.recent, self.undone, self.reveals, self.lore_uses
        statuses = with_statuses(self.statuses, changes.statuses)
        kept = self.kept
        is_moved = (start, session.prompt_index) != (before, self.session.prompt_index)
        if is_moved or changes.events or changes.canon_end is not None:  # most commits leave canon as it is
            canon = self._canon_with(changes)
            reveals = self._reveals_with(canon, session)
            uses = self._uses_with(canon, session)
            kept = (*kept, *canon)
            if start > before:
                canon = tuple(event for event in canon if event.summarised_with > start)
            recent = tuple(event for event in canon if event.prompt_index <= session.prompt_index)
            undone = tuple(event for event in canon if event.prompt_index > session.prompt_index)
        return replace(
            self,
            session=session,
            tab1=changes.tab1 or self.tab1,
            prompt_blocks=self.prompt_blocks if changes.prompt_blocks is None else changes.prompt_blocks,
            secrets=self.secrets if changes.secrets is None else changes.secrets,
            reveals=reveals,
            lore=self.lore if changes.lore is None else changes.lore,
            lore_uses=uses,
            unsent={slot: text for slot, text in {**self.unsent, **changes.unsent}.items() if text},
            blocks=self._memory_with(changes, session),
            condensed=self._condensed_with(changes),
            recent=recent,
            statuses=statuses,
            kept=_older(kept, statuses, start),
            undone=undone,
            takes=self._takes_with(changes, session),
            is_recent_known=self.is_recent_known and start >= before and not self._lacks(changes),
            requests=_merge(self.requests, changes.requests),
            draft_count=self.draft_count + len(changes.drafts),
            spent=self.spent + total_cost(changes.artifacts),
            last_ordinal=self._last_ordinal_with(changes, session),
        )

    def _lacks(self, changes: Changes) -> bool:
        """Whether an event is always sent from now on that is not among those that are known."""
        known = (*self.kept, *self.recent, *self.undone, *changes.events)
        return not always_of(changes.statuses) <= {event.log_place for event in known}

    def take_count(self, prompt_index: int) -> int:
        """Return how many takes a prompt after `recent_from` has; 0 if it was never played."""
        return self.takes.get(prompt_index, int(prompt_index <= self.session.prompt_index))

    def _canon_with(self, changes: Changes) -> tuple[Event, ...]:
        """Return the known canon, undone events included, after `changes`."""
        canon = (*self.recent, *self.undone)
        if changes.canon_end is not None:
            canon = tuple(event for event in canon if event.prompt_index <= changes.canon_end)
        if not changes.events:
            return canon
        # A take replaces what canon has of its prompt; lines are added to the take that is there.
        replaced = {event.prompt_index for event in changes.events if event.role is Role.USER}
        if canon and replaced and canon[-1].prompt_index >= min(replaced):
            canon = tuple(event for event in canon if event.prompt_index not in replaced)
        return tuple(sorted((*canon, *changes.events), key=lambda event: event.place))

    def _reveals_with(self, canon: Sequence[Event], session: Session) -> tuple[Reveal, ...]:
        """Return the reveals up to the last prompt: those of the known canon, and the earlier ones."""
        if not self.secrets:
            return ()
        known_from = min((event.prompt_index for event in canon), default=session.prompt_index + 1)
        earlier = (reveal for reveal in self.reveals if reveal.prompt_index < known_from)
        known = reveals_in(event for event in canon if event.prompt_index <= session.prompt_index)
        return (*earlier, *known)

    def _uses_with(self, canon: Sequence[Event], session: Session) -> tuple[LoreUse, ...] | None:
        """Return the active entries up to the last prompt; None if they are unknown."""
        if not self.lore or self.lore_uses is None:
            return None
        # Of the prompt before these, canon may have what was added alone.
        prompts = (event.prompt_index for event in canon if event.role is Role.USER)
        known_from = min(prompts, default=session.prompt_index + 1)
        earlier = (use for use in self.lore_uses if use.prompt_index < known_from)
        known = range(known_from, session.prompt_index + 1)
        return (*earlier, *uses_in(event for event in canon if event.prompt_index in known))

    def _takes_with(self, changes: Changes, session: Session) -> Mapping[int, int]:
        has_one_each = not self.takes and all(event.take == 1 for event in changes.events)
        if has_one_each and session.prompt_index >= self.session.prompt_index:
            return self.takes
        counts = dict(self.takes)
        for event in (*self.recent, *self.undone, *changes.events):
            counts[event.prompt_index] = max(counts.get(event.prompt_index, 0), event.take)
        start, last = recent_from(session, self.recent_prompts), session.prompt_index
        return {index: n for index, n in sorted(counts.items()) if index > start and (n > 1 or index > last)}

    def _memory_with(self, changes: Changes, session: Session) -> tuple[MemoryBlock, ...]:
        if not self.is_memory_known:
            return ()
        blocks, end = self.blocks, changes.memory_end
        if end is not None:
            blocks = tuple(block for block in blocks if block.last <= end)
        if not changes.blocks:
            return blocks
        replaced = {block.place for block in changes.blocks}
        kept = (block for block in blocks if block.place not in replaced)
        memory = sorted((*kept, *changes.blocks), key=lambda block: block.place)
        return compact_old_deltas(memory, full_deltas_from(session))

    def _condensed_with(self, changes: Changes) -> tuple[CondensedMemory, ...]:
        if not (self.condensed or changes.condensed):
            return ()
        kept = (one for one in self.condensed if one.survives(changes.blocks, changes.memory_end))
        return tuple(sorted((*kept, *changes.condensed), key=lambda one: one.order))

    def _last_ordinal_with(self, changes: Changes, session: Session) -> int:
        """Return the last ordinal at the boundary; after a withdrawal memory must be known."""
        if changes.memory_end is not None:
            memory = self._memory_with(changes, session)
            return max((block.ordinal for block in memory if block.last == session.boundary), default=0)
        known = self.last_ordinal if session.boundary == self.session.boundary else 0
        return max([known, *(block.ordinal for block in changes.blocks if block.last == session.boundary)])


def _older(events: Sequence[Event], statuses: Statuses, start: int) -> tuple[Event, ...]:
    """Return those of `events` that are always sent and come before recent context."""
    always = always_of(statuses)
    if not always:
        return ()
    return tuple(event for event in events if event.log_place in always and event.summarised_with <= start)


def recent_from(session: Session, recent_prompts: int = 0) -> int:
    """Return the prompt index after which events are recent context, by `Event.summarised_with`.

    It moves only when a block is stored, so that the inputs between two blocks share their prefix, and it
    always keeps unsummarised prompts, those of the last chunk, and the last `recent_prompts` of those in
    memory (design 6 and 7).
    """
    return max(0, session.boundary - max(session.limits.chunk_size, recent_prompts))


def full_deltas_from(session: Session) -> int:
    """Return the prompt index after which deltas are complete; older ones are reduced to their canon."""
    return session.boundary - MAX_FULL_DELTAS * session.limits.chunk_size


def is_kept_in_snapshot(request: Request) -> bool:
    """Whether a request is part of a snapshot: open or failed."""
    return request.state.is_open or request.has_failed


def _merge(old: tuple[Request, ...], new: Collection[Request]) -> tuple[Request, ...]:
    if not new:
        return old
    by_id = {request.id: request for request in (*old, *new)}
    kept = (request for request in by_id.values() if is_kept_in_snapshot(request))
    return tuple(sorted(kept, key=lambda request: request.id))
