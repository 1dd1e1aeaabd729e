"""Audiences of lines and texts in tab 2, computed from a snapshot alone (design 13)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from core.context.visibility import names_of
from core.domain.audience import Audience
from core.domain.requests.request import ReplyRequest
from core.domain.session.session import Session
from core.domain.session.state_machine import Command
from core.domain.slot import Slot
from core.domain.story.secret import label_of
from core.storage.snapshot import Snapshot
from core.text.cleaning import clean_line

COMMANDS: Final = {
    "choose_hearers": Command.SET_PRESENT,
    "add_line": Command.ADD_LINE,
    "begin_scene": Command.ADD_LINE,
    "roll_dice": Command.ADD_LINE,
    "reveal": Command.ADD_LINE,
}
"""The actions of tab 2 about the scene, and the commands that the state machine knows them by."""
MOST_NAMES: Final = 3
"""Names that a title of a panel has room for, at 80 columns."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """Recipients of a panel's text: those present and one character, if nothing else was chosen."""

    heard_by: Audience | None = None
    """The others that hear it; None for those present."""
    then: tuple[Slot, ...] = ()
    """Those who answer after the one addressed, in this order."""


USUAL: Final = Delivery()


@dataclass(frozen=True, slots=True, kw_only=True)
class HearingView:
    """Whether the chapter uses audiences, and what can be done about them."""

    is_used: bool = False
    """Whether a character is absent, or something exists that not everyone knows."""
    is_needless: bool = True
    """Whether there is one character alone, so that everyone hears everything."""
    has_secret: bool = False
    """Whether there is a secret that not everyone knows."""
    possible: frozenset[str] = frozenset()
    """The actions that are possible now in the window that writes."""

    def is_offered(self, action: str) -> bool | None:
        """Whether an action is possible, not possible now (None), or not offered at all."""
        if (action == "choose_hearers" and self.is_needless) or (action == "reveal" and not self.has_secret):
            return False
        return action in self.possible or None


def hearing_view(
    snapshot: Snapshot, why_not: Callable[[Command], str], *, has_private: bool = False
) -> HearingView:
    """Return what a snapshot says about who hears what.

    `why_not` says why a command is refused, or nothing; `has_private` that the transcript has something that
    not everyone heard, which a snapshot no longer has when it is old.
    """
    session = snapshot.session
    labels = [label_of(secret, snapshot.reveals) for secret in snapshot.secrets]
    asked = [request for request in snapshot.requests if isinstance(request, ReplyRequest)]
    audiences = [
        session.here,
        *(event.audience for event in snapshot.recent),
        *(block.audience for block in snapshot.blocks),
        *(request.audience for request in asked),
    ]
    return HearingView(
        is_used=has_private or not all(audience.is_everyone for audience in audiences),
        is_needless=len(session.slots) < 2,
        has_secret=any(not session.audience_of(label).is_everyone for label in labels),
        possible=frozenset(action for action, command in COMMANDS.items() if not why_not(command)),
    )


def mark_of(audience: Audience, session: Session) -> str:
    """Return the mark of a line that some heard, such as `⟨Kara, Joss⟩ `; empty if everyone did."""
    return "" if audience.is_everyone else f"⟨{clean_line(names_of(audience, session))}⟩ "


def hearers_text(session: Session, slot: Slot, chosen: Audience | None, then: Sequence[Slot] = ()) -> str:
    """Return who hears a prompt to `slot` and to `then`: everyone, a whisper, names, or who does not."""
    audience = session.hearers_of(slot, chosen, *then)
    if audience.is_everyone:
        return "heard by all"
    if chosen is not None and audience.slots == {slot}:
        return "whisper"
    absent = Audience.of(one for one in session.slots if one not in audience)
    if len(session.slots) - len(absent.slots) > MOST_NAMES:
        return clean_line(f"all but {names_of(absent, session)}")
    return clean_line(names_of(audience, session))


def choice_of(session: Session, slot: Slot, audience: Audience, then: Sequence[Slot] = ()) -> Audience | None:
    """Return the choice by which `audience` hears a prompt to `slot` and `then`: None if it is those present.

    It does without those who are called, who always hear it: so a whisper stays one in another panel.
    """
    if session.hearers_of(slot, None, *then) == audience:
        return None
    return audience if audience.is_everyone else Audience(audience.slots - {slot, *then})


def delivery_of(session: Session, request: ReplyRequest) -> Delivery:
    """Return how the text of a request is sent again as it was."""
    heard_by = choice_of(session, request.slot, request.audience, request.then)
    return Delivery(heard_by, request.then)


def joined(session: Session, slot: Slot, one: Delivery, other: Delivery) -> Delivery:
    """Return how a text that is made of two is sent: only who may hear both hears it."""
    return Delivery(narrower(session, slot, one.heard_by, other.heard_by), one.then or other.then)


def narrower(session: Session, slot: Slot, one: Audience | None, other: Audience | None) -> Audience | None:
    """Return the choice for a text that is made of two: only who may hear both hears it."""
    if one == other:
        return one
    return choice_of(session, slot, session.hearers_of(slot, one) & session.hearers_of(slot, other))
