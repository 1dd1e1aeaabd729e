"""Content of tab 2 on takes and undo, computed from a snapshot alone (design 12)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from core.domain.prompt_range import PromptRange
from core.domain.session.state_machine import Command
from core.domain.slot import Slot
from core.domain.story.event import Role
from core.engine.changes.canon import newest_events
from core.storage.snapshot import Snapshot
from storyengine_tui.widgets.key_names import with_key

COMMANDS: Final = {
    "reroll": Command.ASK_AGAIN,
    "reroll_with": Command.ASK_AGAIN,
    "continue_reply": Command.ASK_AGAIN,
    "correct_reply": Command.CHOOSE_TAKE,
    "strike_afterthought": Command.CHOOSE_TAKE,
    "choose_take": Command.CHOOSE_TAKE,
    "undo": Command.UNDO,
    "redo": Command.REDO,
}
"""The actions of tab 2 that change what counts, and the commands that the state machine knows them by."""


@dataclass(frozen=True, slots=True)
class TakeButton:
    """A button of the line about takes: its action and what is written on it."""

    action: str
    label: str
    is_possible: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TakesView:
    """The takes of the newest prompt, and what was undone."""

    take: int = 1
    """The take of the newest prompt that counts."""
    count: int = 1
    """Number of takes of the newest prompt."""
    is_shown: bool = True
    """Whether the view of the story that is shown has the newest prompt."""
    has_afterthought: bool = False
    """Whether a character added something unasked to the newest prompt."""
    undone: PromptRange | None = None
    """The prompts that redo can bring back."""
    possible: frozenset[str] = frozenset()
    """The actions that are possible now in the window that writes."""

    @property
    def line(self) -> str:
        """The takes and what was undone, in one line; empty while there is neither."""
        parts = [f"take {self.take} of {self.count}"] if self.count > 1 and self.is_shown else []
        if self.undone is not None:
            is_one = len(self.undone) == 1
            verb = "" if parts else "is " if is_one else "are "
            # A range beside takes is without its noun: line and buttons have to fit in 80 columns.
            undone = self.undone.named if is_one or not parts else str(self.undone)
            parts.append(f"{undone} {verb}undone")
        line = " · ".join(parts)
        return line[:1].upper() + line[1:]

    @property
    def buttons(self) -> tuple[TakeButton, ...]:
        """The buttons beside the line."""
        names: list[tuple[str, str]] = []
        if self.count > 1 and self.is_shown:
            names += [("choose_take(-1)", "←"), ("choose_take(1)", "→")]
        if self.undone is None:
            names.append(("reroll", with_key("Re-roll", "f9")))
        else:
            names.append(("redo", with_key("Redo", "alt+o")))
        names.append(("undo", with_key("Undo", "ctrl+o")))
        return tuple(
            TakeButton(name, label, name.partition("(")[0] in self.possible) for name, label in names
        )

    def is_offered(self, action: str) -> bool | None:
        """Whether an action is possible, not possible now (None), or not offered at all."""
        needless = {"choose_take": self.count < 2, "strike_afterthought": not self.has_afterthought}
        if needless.get(action, False):
            return False
        return action in self.possible or (False if action == "redo" else None)


def takes_view(
    snapshot: Snapshot, why_not: Callable[[Command], str], viewpoint: Slot | None = None
) -> TakesView:
    """Return the takes of a snapshot; `why_not` says why a command is refused, or nothing.

    With a viewpoint what this character has witnessed is shown.
    """
    last, newest = snapshot.session.prompt_index, newest_events(snapshot)
    # Lines of the GM at the same prompt may be heard by others.
    heard = (viewpoint in event.audience for event in newest if event.role is not Role.SYSTEM)
    take = next((event.take for event in reversed(snapshot.recent) if event.prompt_index == last), 1)
    undone = [event.prompt_index for event in snapshot.undone]
    return TakesView(
        take=take,
        count=max(1, snapshot.take_count(last)) if last else 1,
        is_shown=viewpoint is None or any(heard),
        has_afterthought=any(event.is_afterthought for event in newest),
        undone=PromptRange(undone[0], undone[-1]) if undone else None,
        possible=frozenset(action for action, command in COMMANDS.items() if not why_not(command)),
    )
