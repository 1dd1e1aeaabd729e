"""Notes of tab 2 on characters that are away, may be silent, or were silent for long (design 17)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from core.domain.session.session import Session, absence_text
from core.domain.session.state_machine import Command
from core.domain.slot import Slot
from core.engine.services.speaking.hints import Hint, unsettled
from core.storage.snapshot import Snapshot

COMMANDS: Final = {
    "choose_away": Command.SET_PRESENT,
    "let_be_silent": Command.DIRECT_CAST,
    "hint_after": Command.DIRECT_CAST,
}
"""The actions of tab 2 about them, and the commands that the state machine knows them by."""
AWAY_MARK: Final = "◌"
HINT_MARK: Final = "…"


@dataclass(frozen=True, slots=True)
class PanelNote:
    """Note of a panel beside its character's name, and the mark of its entry."""

    text: str
    mark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StageView:
    """Notes of the panels, by slot, and the possible actions; empty while none of it is used."""

    notes: Mapping[Slot, PanelNote] = field(default_factory=dict)
    is_alone: bool = True
    """Whether there is one character alone, who cannot leave."""
    possible: frozenset[str] = frozenset()
    """The actions that are possible now in the window that writes."""

    def is_offered(self, action: str) -> bool | None:
        """Whether an action is possible, not possible now (None), or not offered at all."""
        if action != "let_be_silent" and self.is_alone:
            return False
        return action in self.possible or None


def stage_view(session: Session, why_not: Callable[[Command], str], hints: Sequence[Hint] = ()) -> StageView:
    """Return what the panels say; `why_not` says why a command is refused, or nothing."""
    notes = {hint.slot: PanelNote(hint.text, HINT_MARK) for hint in hints if session.hint_after}
    for slot, back_at in session.away.items():
        if session.is_away(slot):
            notes[slot] = PanelNote(absence_text(back_at), AWAY_MARK)
    return StageView(
        notes=notes,
        is_alone=len(session.slots) < 2,
        possible=frozenset(action for action, command in COMMANDS.items() if not why_not(command)),
    )


def hinted_by(snapshot: Snapshot) -> object:
    """Return what the hints depend on; None while there are none to look for."""
    session = snapshot.session
    if not session.hint_after:
        return None
    story = (session.id, session.prompt_index, session.canon_version, session.boundary)
    asked = tuple(request.id for request in unsettled(snapshot))
    return (*story, session.hint_after, session.here, tuple(session.away.items()), asked)
