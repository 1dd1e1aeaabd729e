"""A session is one chapter from set-up to narrative (design 2 and 4)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from core.domain.audience import EVERYONE, Audience, audience_of
from core.domain.ids import SessionId
from core.domain.prompt_range import PromptRange, due_chunk
from core.domain.session.carry_over import NOTHING_CARRIED, CarryOver
from core.domain.session.limits import Limits
from core.domain.session.session_state import SessionState as SessionState
from core.domain.slot import Slot, first_slots, slot_after


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The root record of a chapter."""

    id: SessionId
    title: str = ""
    """The GM's title; if empty, it is derived from the chapter text."""
    script_key: str = ""
    """Fingerprint of the chapter script of this session; empty without one."""
    state: SessionState = SessionState.DRAFT_TAB1
    is_ending: bool = False
    """The GM has ended the chapter, and the last summaries are pending."""
    prompt_index: int = 0
    boundary: int = 0
    """The last prompt that is in memory."""
    canon_version: int = 0
    """Grows with every change of canon that does not only append to it (design 12)."""
    branched_from: SessionId | None = None
    """The session whose canon this one began with; it may have been purged since."""
    branched_at: int = 0
    """The last prompt of that session that this one has."""
    pinned: tuple[str, ...] = ()
    """Canon locks that the GM keeps in memory, whatever becomes of the blocks that have them."""
    private_pins: Mapping[str, Audience] = field(default_factory=dict)
    """The labels of those pinned locks that not everyone may know."""
    struck: tuple[str, ...] = ()
    """Canon locks that the GM removed from memory, whichever block has them."""
    slots: tuple[Slot, ...] = first_slots(3)
    names: Mapping[Slot, str] = field(default_factory=dict)
    """Names given by the GM; other slots have their default."""
    tab1_locked: bool = False
    next_slot: Slot = Slot.RED
    present: Audience = EVERYONE
    """Those in the scene now: they hear what the GM sends from here on."""
    definition: str = ""
    """The GM's definition of the narrative agent."""
    target_words: int | None = None
    limits: Limits = field(default_factory=Limits)
    created_at: datetime
    updated_at: datetime
    archived_at: datetime | None = None

    def name_of(self, slot: Slot) -> str:
        """Return the name of the character in `slot`: the GM's, else the default."""
        return self.names.get(slot) or slot.default_name

    def audience_of(self, slots: Iterable[Slot]) -> Audience:
        """Return the audience of these characters; everyone if all of the cast are among them."""
        return audience_of(slots, self.slots)

    def hearers_of(self, slot: Slot, heard_by: Audience | None) -> Audience:
        """Return who hears a prompt to `slot`: those given, else those present; and always that one."""
        return self.audience_of((*(self.present if heard_by is None else heard_by), slot))

    def speaker_after(self, slot: Slot) -> Slot:
        """Return whom the GM probably calls next: the next of those present, else of the cast."""
        present = tuple(other for other in self.slots if other in self.present)
        return slot_after(slot, present or self.slots)

    @property
    def roster(self) -> tuple[tuple[Slot, str], ...]:
        """The selected slots with their names, in slot order."""
        return tuple((slot, self.name_of(slot)) for slot in sorted(self.slots))

    @property
    def unsummarised(self) -> int:
        """How many prompts are beyond the boundary."""
        return self.prompt_index - self.boundary

    @property
    def due_chunk(self) -> PromptRange | None:
        """The next chunk to summarise, if one is due."""
        return due_chunk(self.boundary, self.prompt_index, self.limits.chunk_size, is_ending=self.is_ending)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab1Inputs:
    """The GM's texts on tab 1; editable until it is locked."""

    world: str = ""
    chapter: str = ""
    identities: Mapping[Slot, str] = field(default_factory=dict)
    carried: CarryOver = NOTHING_CARRIED
    """What comes over from earlier chapters of the book; the GM strikes and pins lines of it."""

    @property
    def is_blank(self) -> bool:
        """Whether world and chapter are both blank."""
        return not self.world.strip() and not self.chapter.strip()

    def with_identity(self, slot: Slot, text: str) -> "Tab1Inputs":
        """Return a copy with the identity of `slot` replaced."""
        return replace(self, identities={**self.identities, slot: text})


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """One line of the chapter list."""

    id: SessionId
    title: str
    state: SessionState
    prompt_index: int
    draft_count: int
    created_at: datetime
    updated_at: datetime
    archived_at: datetime | None
    is_readable: bool = True
    """Whether the row could be read; otherwise only `id` is meaningful."""


def title_from(session_title: str, chapter: str, world: str) -> str:
    """Return the title to show: the GM's, else the first words of chapter or world."""
    if session_title.strip():
        return session_title.strip()
    for text in (chapter, world):
        words = text.split()
        if words:
            title = " ".join(words[:8])
            return title if len(title) <= 60 else title[:59] + "…"
    return "Untitled chapter"
