"""A session is one chapter from set-up to narrative; and who is away from its scene (design 2, 4 and 17)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from core.domain.audience import EVERYONE, NOBODY, Audience, audience_of
from core.domain.errors import IllegalCommandError
from core.domain.ids import SessionId
from core.domain.prompt_range import PromptRange, due_chunk
from core.domain.session.carry_over import NOTHING_CARRIED, CarryOver
from core.domain.session.language import Language
from core.domain.session.limits import Limits
from core.domain.session.profile import NO_PROFILE, Profile, Profiles
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot, first_slots, slot_after
from core.text.graphemes import head, without_cut_word


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
    """The labels of those pinned and struck locks that not everyone may know."""
    struck: tuple[str, ...] = ()
    """Canon locks that the GM removed from memory, whichever block has them."""
    slots: tuple[Slot, ...] = first_slots(3)
    names: Mapping[Slot, str] = field(default_factory=dict)
    """Names given by the GM; other slots have their default."""
    tab1_locked: bool = False
    next_slot: Slot = Slot.RED
    present: Audience = EVERYONE
    """Those in the scene now: they hear what the GM sends from here on."""
    away: Mapping[Slot, int] = field(default_factory=dict)
    """Characters that left the scene, each with the prompt at which it is back; 0 for when the GM says so, -1
    for when it is no longer paused in the library."""
    may_be_silent: Audience = NOBODY
    """Those who may act without words or say nothing."""
    hint_after: int = 0
    """After how many prompts without a reply of it a character is pointed out to the GM; 0 for never."""
    adds_unasked: bool = False
    """Whether characters may add something unasked in this chapter."""
    may_add: Audience = NOBODY
    """The characters that may, where any does."""
    keeps_bank: bool = False
    """Whether items are drawn from play into the memory bank, and recalled."""
    language: Language = Language.ENGLISH
    """The language of the story, in which words of the memory bank are made and looked for."""
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

    def hearers_of(self, slot: Slot, heard_by: Audience | None, *then: Slot) -> Audience:
        """Return who hears a prompt to `slot`, and to those in `then` after it.

        Those given, else those here; and always who is called.
        """
        return self.audience_of((*(self.here if heard_by is None else heard_by), slot, *then))

    def is_away(self, slot: Slot) -> bool:
        """Whether a character is away at the next prompt."""
        back_at = self.away.get(slot)
        return back_at is not None and (back_at <= 0 or self.prompt_index + 1 < back_at)

    @property
    def here(self) -> Audience:
        """Those in the scene at the next prompt: those present that are not away."""
        gone = [slot for slot in self.away if slot in self.present and self.is_away(slot)]
        if not gone:
            return self.present
        return self.audience_of(slot for slot in self.slots if slot in self.present and slot not in gone)

    def speaker_after(self, slot: Slot) -> Slot:
        """Return whom the GM probably calls next: the next in the scene, else one not away, else any."""
        here = tuple(other for other in self.slots if other in self.here)
        return slot_after(slot, here or tuple(o for o in self.slots if not self.is_away(o)) or self.slots)

    def played_to(self, prompt_index: int, speaker: Slot) -> "Session":
        """Return the session after a prompt that this character answered."""
        played = replace(self, prompt_index=prompt_index)
        return replace(played, next_slot=played.speaker_after(speaker))

    @property
    def roster(self) -> tuple[tuple[Slot, str], ...]:
        """The selected slots with their names, in slot order."""
        return tuple((slot, self.name_of(slot)) for slot in sorted(self.slots))

    @property
    def unsummarised(self) -> int:
        """Number of prompts beyond the boundary."""
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
    profiles: Profiles = field(default_factory=dict)
    """Data from characters of the library by slot; a slot made by hand has none."""
    carried: CarryOver = NOTHING_CARRIED
    """Lines from earlier chapters of the book; the GM can strike and pin them."""

    @property
    def is_blank(self) -> bool:
        """Whether world and chapter are both blank."""
        return not self.world.strip() and not self.chapter.strip()

    def with_identity(self, slot: Slot, text: str) -> "Tab1Inputs":
        """Return a copy with the identity of `slot` replaced."""
        return replace(self, identities={**self.identities, slot: text})

    def profile_of(self, slot: Slot) -> Profile:
        """Return what `slot` has of a character of the library; an empty one where it has nothing."""
        return self.profiles.get(slot, NO_PROFILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """One line of the chapter list."""

    id: SessionId
    title: str
    state: SessionState
    prompt_index: int
    draft_count: int
    updated_at: datetime
    archived_at: datetime | None
    is_readable: bool = True
    """Whether the row could be read; otherwise only `id` is meaningful."""


def title_from(session_title: str, chapter: str, world: str) -> str:
    """Return the title to show: the GM's, else the first whole words of chapter or world, with “…” if cut."""
    if session_title.strip():
        return session_title.strip()
    for text in (chapter, world):
        words = text.split()
        if words:
            title = " ".join(words[:8])
            if len(title) <= 60 and len(words) <= 8:
                return title
            kept = head(title, 59)
            return (without_cut_word(kept, title) or kept).rstrip(" ,;:.–—…") + "…"
    return "Untitled chapter"


LATEST_RETURN: Final = 1_000_000
"""The last prompt at which a return can be planned."""
PAUSED: Final = -1
"""In the place of the prompt of a return: the character is paused in the library, and back when it is not."""
MOST_HINT_PROMPTS: Final = 1_000
"""The most prompts after which a silent character can be pointed out."""
USUAL_HINT_MINUTES: Final = 30
"""Minutes of play after which one is pointed out as well, unless the GM has set another number."""


def absence_text(back_at: int) -> str:
    """Return how long a character is away, such as `away until prompt 12`; 0 is until the GM says so."""
    if back_at == PAUSED:
        return "away while it is paused in the library"
    return f"away until prompt {back_at:,}" if back_at else "away"


def require_here(session: Session, slot: Slot) -> None:
    """Raise IllegalCommandError for a character that is away."""
    if session.is_away(slot):
        name = session.name_of(slot)
        raise IllegalCommandError(
            f"{name} is {absence_text(session.away[slot])}; bring {name} back first, or write to another."
        )


def read_away(stored: Mapping[str, object]) -> dict[Slot, int]:
    """Return who is away as JSON has it: the prompt of the return by slot; raise ValueError for another."""
    away: dict[Slot, int] = {}
    for slot, back_at in stored.items():
        if (
            not isinstance(back_at, int)
            or isinstance(back_at, bool)
            or not PAUSED <= back_at <= LATEST_RETURN
        ):
            raise ValueError("a character returns at a prompt")
        away[Slot(int(slot))] = back_at
    return away
