"""Content of tab 1, and its typed texts as an edit; without widgets (design 10)."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core.domain.errors import ErrorCode
from core.domain.requests.request import LockRequest, Request
from core.domain.session.profile import Profiles
from core.domain.session.session import Session, Tab1Inputs
from core.domain.session.session_state import SessionState
from core.domain.session.state_machine import Command
from core.domain.slot import Slot, first_slots
from core.domain.story.secret import Reveal, Secret
from core.engine.decisions.tab1_commands import Tab1Edit
from core.storage.snapshot import Snapshot
from core.text.cleaning import clean, clean_line
from core.text.name_list import name_key
from storyengine_tui.screens.shared.state_labels import reason_of
from storyengine_tui.widgets.banner import BannerAction, BannerText, Tone
from storyengine_tui.widgets.panel_switcher import PanelEntry

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle

INTRO = "Write world, chapter and cast; then go on to 2 Play (F3)."
READ_ONLY_TEXT = "Read-only in this window: you can read and copy."
LOCKED = "Locked: you can read and copy. Reset Chapter, below, starts a new one."
RESET_WARNING = (
    "Warning, resetting the chapter will delete all cells from the Story Engine, please make sure you "
    "have saved any and all character and setting information before you reset.\n\n"
    "Only the cells of this window are emptied. The chapter itself is kept: it moves to the archive "
    "(F5, then v), where you can restore it or delete it for good."
)
"""The words of the specification, and below them what really happens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupView:
    """Everything that tab 1 shows of a session."""

    session: Session
    stored: Tab1Inputs
    failed: Request | None
    """The lock that failed, while the chapter is still being set up."""
    is_writer: bool
    """Whether this window may write."""
    is_editable: bool
    can_reset: bool
    secrets: tuple[Secret, ...]
    reveals: tuple[Reveal, ...]
    """The reveals of secrets that are canon."""
    can_edit_secrets: bool

    @property
    def failure(self) -> BannerText | None:
        """The reason why the lock failed, with the offers to retry it or to edit."""
        if self.failed is None:
            return None
        tone = Tone.INFO if self.failed.error_code is ErrorCode.LLM_CANCELLED else Tone.ERROR
        actions = (BannerAction("retry", "Retry", "ctrl+r"), BannerAction("edit", "Edit"))
        return BannerText(clean(reason_of(self.failed)), actions=actions, tone=tone)

    @property
    def is_locked(self) -> bool:
        """Whether world, chapter and cast are locked."""
        return not self.session.state.is_unlocked

    @property
    def secret_facts(self) -> object:
        """Everything that the cell of secrets depends on."""
        roster = self.session.roster if self.secrets else ()
        return self.secrets, self.reveals, roster, self.can_edit_secrets, self.is_locked

    @property
    def intro(self) -> str:
        """The line above the cells."""
        if not self.is_writer:
            return READ_ONLY_TEXT
        return LOCKED if self.is_locked else INTRO


def setup_view(handle: "SessionHandle") -> SetupView:
    """Return what tab 1 shows of an open session."""
    snapshot = handle.snapshot
    is_draft = snapshot.session.state is SessionState.DRAFT_TAB1
    return SetupView(
        session=snapshot.session,
        stored=snapshot.tab1,
        failed=next(iter(snapshot.failed(LockRequest)), None) if is_draft else None,
        is_writer=not handle.is_read_only,
        is_editable=handle.can(Command.EDIT_TAB1),
        can_reset=handle.can(Command.RESET),
        secrets=snapshot.secrets_now,
        reveals=snapshot.reveals,
        can_edit_secrets=handle.can(Command.EDIT_SECRETS),
    )


@dataclass(frozen=True, kw_only=True)
class TypedSetup:
    """Everything typed on tab 1. Slots whose panel was never shown are missing: they are as stored."""

    world: str
    chapter: str
    character_count: int
    names: Mapping[Slot, str] = field(default_factory=dict)
    identities: Mapping[Slot, str] = field(default_factory=dict)
    profiles: Profiles = field(default_factory=dict)

    def edit_of(self, snapshot: Snapshot) -> Tab1Edit | None:
        """Return the differences from the stored set-up that can be stored; None if there are none.

        A name that another character has is left out until it is unique; everything else is stored.
        """
        stored, session = snapshot.tab1, snapshot.session
        doubles = self.doubles(snapshot)
        edit = Tab1Edit(
            world=None if clean(self.world) == stored.world else self.world,
            chapter=None if clean(self.chapter) == stored.chapter else self.chapter,
            identities={
                slot: text
                for slot, text in self.identities.items()
                if clean(text) != stored.identities.get(slot, "")
            },
            profiles={
                slot: profile for slot, profile in self.profiles.items() if profile != stored.profile_of(slot)
            },
            names={slot: name for slot, name in self._changed_names(snapshot).items() if slot not in doubles},
            character_count=None
            if first_slots(self.character_count) == session.slots
            else self.character_count,
        )
        return None if edit == Tab1Edit() else edit

    def entries(self, snapshot: Snapshot) -> list[PanelEntry]:
        """Return the entries that switch between the characters' panels; `✎` marks one with an identity."""
        entries, cast = [], snapshot.cast
        for slot in first_slots(self.character_count):
            name = self.names.get(slot, cast[slot].given_name).strip() or slot.default_name
            mark = "✎" if self.identities.get(slot, cast[slot].identity).strip() else ""
            style = f"$slot-{slot.colour}"
            entries.append(PanelEntry(slot.colour, int(slot), name, style=style, mark=mark))
        return entries

    def doubles(self, snapshot: Snapshot) -> dict[Slot, str]:
        """Return the changed names that cannot be stored now, because another character has them."""
        typed, doubles = self._changed_names(snapshot), dict[Slot, str]()
        while True:
            names = {
                slot: (typed[slot] or slot.default_name)
                if slot in typed and slot not in doubles
                else snapshot.session.name_of(slot)
                for slot in Slot
            }
            counts = Counter(map(name_key, names.values()))
            clashing = [slot for slot in typed if slot not in doubles and counts[name_key(names[slot])] > 1]
            if not clashing:
                return doubles
            doubles |= {slot: names[slot] for slot in clashing}

    def _changed_names(self, snapshot: Snapshot) -> dict[Slot, str]:
        stored = snapshot.session.names
        typed = {slot: clean_line(name) for slot, name in self.names.items()}
        return {
            slot: name
            for slot, name in typed.items()
            if name != stored.get(slot, "") and not (name == slot.default_name and slot not in stored)
        }
