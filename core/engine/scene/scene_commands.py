"""The GM's commands about who is present and who knows what, as pure functions (design 13)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, TypedDict, Unpack

from core.agents.context_builder import ContextBuilder
from core.domain.audience import EVERYONE, Audience
from core.domain.dice import Roll
from core.domain.errors import IllegalCommandError, LimitExceededError
from core.domain.requests.request import ReplyRequest, Request, SummaryRequest
from core.domain.session.profile import lines_of, problems_of_group_names
from core.domain.session.state_machine import Command
from core.domain.slot import Slot
from core.domain.story.context_status import (
    MOST_STATUSES,
    ContextStatus,
    EventStatus,
    status_of,
    with_statuses,
)
from core.domain.story.event import CONTEXT, NEVER, SCENE, SECRET, Event, Role
from core.domain.story.secret import (
    LATEST_REVEAL,
    LONGEST_SECRET,
    LONGEST_SECRETS,
    MOST_SECRETS,
    Secret,
    is_due,
    label_of,
)
from core.engine.changes.canon import end_of_canon
from core.engine.changes.moves import move
from core.engine.decisions.commands import begin
from core.engine.decisions.tab1_commands import within
from core.engine.scene.staging import audience_in, with_present
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from core.text.cleaning import is_blank

ROLL: Final = "roll"
"""Key in `metadata` of a line for its roll: notation, dice and total."""

SCENE_BREAK: Final = "* * *"
"""The line with which a scene begins that has no words; in any language it is one."""
SCRIPTED: Final = "scripted"
"""Key in `metadata` of a line that a chapter script has put there; a second run finds it by that."""


class LineOptions(TypedDict, total=False):
    """The witnesses of a line of the GM, by default those present, and its metadata."""

    hearers: Iterable[Slot] | None
    metadata: Mapping[str, object] | None


def set_present(snapshot: Snapshot, slots: Iterable[Slot], now: datetime) -> Changes:
    """Store the characters that are in the scene from here on; those of them that were away are back."""
    session = move(snapshot, snapshot.session, Command.SET_PRESENT, now)
    return Changes(session_id=session.id, session=with_present(session, audience_in(session, slots)))


def add_line(
    snapshot: Snapshot,
    text: str,
    now: datetime,
    *,
    hearers: Iterable[Slot] | None = None,
    metadata: Mapping[str, object] | None = None,
) -> Changes:
    """Store a line of the GM that is addressed to no character, after the newest prompt.

    Those present witness it, or those in `hearers`.
    """
    session = move(snapshot, snapshot.session, Command.ADD_LINE, now)
    text = within("line", text, session.limits.prompt).strip()
    if is_blank(text):
        raise IllegalCommandError("There is no text to store; write the line first.")
    audience = session.here if hearers is None else audience_in(session, hearers)
    return _with_lines(snapshot, [(text, audience, metadata or {})], now)


def add_roll(snapshot: Snapshot, roll: Roll, now: datetime, **line: Unpack[LineOptions]) -> Changes:
    """Store a roll as a line, with every die."""
    rolled = {"notation": roll.dice.notation, "dice": list(roll.values), "total": roll.total}
    line["metadata"] = {**(line.get("metadata") or {}), ROLL: rolled}
    return add_line(snapshot, roll.text, now, **line)


def begin_scene(snapshot: Snapshot, words: str, now: datetime, **line: Unpack[LineOptions]) -> Changes:
    """Begin a new scene with a line: recent context begins there, once all earlier events are in memory.

    Those present witness its words, or those in `hearers`. No model is sent a line without words.
    """
    metadata = {**(line.get("metadata") or {}), SCENE: True}
    if is_blank(words):
        line["hearers"], metadata[CONTEXT] = snapshot.session.slots, NEVER
    line["metadata"] = metadata
    return add_line(snapshot, scene_text(words), now, **line)


def scene_text(words: str) -> str:
    """Return the text of a line with which a scene begins."""
    return SCENE_BREAK if is_blank(words) else f"{SCENE_BREAK}\n{words.strip()}"


def set_status(snapshot: Snapshot, events: Sequence[Event], status: ContextStatus, now: datetime) -> Changes:
    """Store whether models are sent these events from now on; what memory says of them already stays.

    A summary of them that is not done makes each of its deltas again: it may have others then.
    """
    session = move(snapshot, snapshot.session, Command.SET_STATUS, now)
    changed = [event for event in events if status_of(event, snapshot.statuses) is not status]
    if not changed:
        raise IllegalCommandError("That is so already; there is nothing to change.")
    said = tuple(EventStatus(*event.log_place, status) for event in changed)
    if len(with_statuses(snapshot.statuses, said)) > MOST_STATUSES:
        raise IllegalCommandError(
            f"A chapter has at most {MOST_STATUSES:,} lines marked always or never sent; nothing was changed."
        )
    summaries = [one for one in snapshot.requests if isinstance(one, SummaryRequest)]
    if any(event.summarised_with in one.prompts for one in summaries for event in changed):
        session = replace(session, canon_version=session.canon_version + 1)
    return Changes(session_id=session.id, session=session, statuses=said)


def is_scripted(event: Event) -> bool:
    """Whether an event is a line that a chapter script has put there."""
    return event.role is Role.SYSTEM and event.metadata.get(SCRIPTED) is True


def notation_of(event: Event) -> str:
    """Return the notation of the dice of a roll; empty for every other event."""
    rolled = event.metadata.get(ROLL)
    return str(rolled.get("notation", "")) if isinstance(rolled, Mapping) else ""


def reveal(snapshot: Snapshot, number: int, to: Iterable[Slot], now: datetime) -> Changes:
    """Reveal a secret to these characters now, as a line."""
    session = move(snapshot, snapshot.session, Command.ADD_LINE, now)
    secret = next((one for one in snapshot.secrets if one.number == number), None)
    if secret is None:
        raise IllegalCommandError(f"There is no secret {number}; choose one that exists.")
    audience = audience_in(session, to)
    if label_of(secret, snapshot.reveals).includes(audience):
        raise IllegalCommandError("They know that secret already; there is nothing to reveal.")
    return _with_lines(snapshot, [_reveal_line(secret, audience)], now)


def edit_secrets(
    snapshot: Snapshot, builder: ContextBuilder, secrets: Sequence[Secret], now: datetime
) -> Changes:
    """Store the secrets of the chapter; their numbers are their places in `secrets`.

    Once tab 1 is locked, secrets can be added and their reveals planned; what was known of one stays.
    """
    session = move(snapshot, snapshot.session, Command.EDIT_SECRETS, now)
    secrets = tuple(_checked(number, secret) for number, secret in enumerate(secrets, start=1))
    if len(secrets) > MOST_SECRETS:
        raise IllegalCommandError(f"A chapter has at most {MOST_SECRETS} secrets; nothing was changed.")
    length = sum(len(secret.text) for secret in secrets)
    if length > LONGEST_SECRETS:
        raise LimitExceededError("secrets", length, LONGEST_SECRETS)
    settled_now = snapshot.settled(secrets)
    if session.tab1_locked:
        secrets = settled_now
        kept = [(one.text, one.known_by, one.groups) for one in snapshot.secrets]
        if [(one.text, one.known_by, one.groups) for one in secrets[: len(kept)]] != kept:
            raise IllegalCommandError(
                "A secret of a chapter that is played stays as it is; reveal it, or add another one."
            )
    if secrets:
        with_blocks = builder.for_chapter(snapshot.prompt_blocks, snapshot.tab1.profiles)
        with_blocks.require_room_for_secrets(session, snapshot.tab1, settled_now)
    return Changes(session_id=session.id, session=session, secrets=secrets)


def begun(snapshot: Snapshot, request: Request, now: datetime) -> Changes:
    """Begin a request; a prompt that is new begins with the secrets that are due before it."""
    changes = Changes(session_id=request.session_id, requests=(begin(request, now),))
    if not isinstance(request, ReplyRequest) or request.prompts is not None:
        return changes
    revealed = due_reveals(snapshot, now)
    return replace(changes, events=revealed.events, canon_end=revealed.canon_end)


def due_reveals(snapshot: Snapshot, now: datetime) -> Changes:
    """Return the lines that reveal secrets before the next prompt."""
    session = snapshot.session
    following = session.prompt_index + 1
    lines = [
        _reveal_line(secret, session.audience_of(secret.reveal_to or EVERYONE))
        for secret in snapshot.secrets
        if is_due(secret, snapshot.reveals, following)
    ]
    return _with_lines(snapshot, lines, now) if lines else Changes(session_id=snapshot.session.id)


_Line = tuple[str, Audience, Mapping[str, object]]


def _reveal_line(secret: Secret, audience: Audience) -> _Line:
    return secret.text, audience, {SECRET: secret.number}


def _with_lines(snapshot: Snapshot, lines: Sequence[_Line], now: datetime) -> Changes:
    """Add lines to the canonical take of the newest prompt, or before the first one."""
    session = snapshot.session
    take, start = end_of_canon(snapshot, now)
    made: list[Event] = [
        take.line(ordinal, text, audience, metadata)
        for ordinal, (text, audience, metadata) in enumerate(lines, start=start)
    ]
    return Changes(
        session_id=session.id,
        session=replace(session, updated_at=now),
        events=tuple(made),
        canon_end=session.prompt_index if snapshot.undone else None,
    )


def _checked(number: int, secret: Secret) -> Secret:
    text = within("secret", secret.text, LONGEST_SECRET).strip()
    if is_blank(text):
        raise IllegalCommandError(f"Secret {number} has no text; write it, or remove it.")
    if (secret.reveal_at is None) != (secret.reveal_to is None):
        raise IllegalCommandError(f"Secret {number} needs both a prompt and characters for its reveal.")
    if secret.reveal_at is not None and not 1 <= secret.reveal_at <= LATEST_REVEAL:
        raise IllegalCommandError(
            f"Secret {number} is revealed at a prompt from 1 on; choose another number."
        )
    groups = lines_of(secret.groups)
    for problem in problems_of_group_names(groups):
        raise IllegalCommandError(f"Secret {number}: {problem}")
    return replace(secret, number=number, text=text, groups=groups)
