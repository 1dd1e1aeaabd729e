"""Checks what an imported session says about who knows what, is away, and may be silent (design 13, 17)."""

from collections.abc import Iterator, Mapping, Sequence

from core.domain.audience import Audience
from core.domain.session.profile import lines_of, problems_of_group_names
from core.domain.session.session import LATEST_RETURN, MOST_HINT_PROMPTS, PAUSED, Session, read_away
from core.domain.story.event import AWAY, LONGEST_REASON, MANNER, PRESENT, REASON, Event, Manner, Role
from core.domain.story.memory import BlockType, MemoryBlock
from core.domain.story.secret import LATEST_REVEAL, LONGEST_SECRET, LONGEST_SECRETS, MOST_SECRETS, Secret
from core.text.cleaning import is_blank

Problems = Iterator[str]


def problems_of_secrets(session: Session, secrets: Sequence[Secret]) -> Problems:
    """Yield problems of the secrets, and of the labels of pinned canon locks."""
    numbers = [secret.number for secret in secrets]
    if numbers != list(range(1, len(secrets) + 1)) or len(secrets) > MOST_SECRETS:
        yield "its secrets are not numbered from 1, or too many"
    if any(is_blank(secret.text) or len(secret.text) > LONGEST_SECRET for secret in secrets):
        yield "a secret is empty or too long"
    if sum(len(secret.text) for secret in secrets) > LONGEST_SECRETS:
        yield "its secrets are too long together"
    for secret in secrets:
        if lines_of(secret.groups) != secret.groups or any(problems_of_group_names(secret.groups)):
            yield f"the groups of secret {secret.number} are not valid"
        is_planned = secret.reveal_at is not None and 1 <= secret.reveal_at <= LATEST_REVEAL
        if (secret.reveal_at is not None or secret.reveal_to is not None) and not (
            is_planned and secret.reveal_to is not None
        ):
            yield f"secret {secret.number} has an incomplete reveal"
    if not session.private_pins.keys() <= {*session.pinned, *session.struck}:
        yield "a label belongs to no pinned or struck canon lock"


def problems_of_reveals(events: Sequence[Event], secrets: Sequence[Secret]) -> Problems:
    """Yield problems of lines that reveal secrets, and of who was present."""
    numbers = {None, *(secret.number for secret in secrets)}
    if any(event.reveals not in numbers for event in events):
        yield "a secret that is missing was revealed"
    for event in events:
        mask = event.metadata.get(PRESENT, 0)
        if event.role is Role.USER and not (isinstance(mask, int) and 0 <= mask <= Audience().mask):
            yield f"those present at prompt {event.prompt_index} are not characters"


def problems_of_lines(opening: Sequence[Event]) -> Problems:
    """Yield a problem unless these are lines before the first prompt, in order."""
    places = [(event.take, event.ordinal) for event in opening]
    if places != [(1, ordinal) for ordinal in range(len(opening))] or not all(
        event.role is Role.SYSTEM and event.slot is None and not is_blank(event.text) for event in opening
    ):
        yield "there is something else than lines before its first prompt"


def are_in_place(blocks: Sequence[MemoryBlock]) -> bool:
    """Whether private deltas and then corrections follow the block that ends where they do, in order."""
    chain: MemoryBlock | None = None
    before: MemoryBlock | None = None
    for block in blocks:
        if block.ordinal == 0:
            chain = block
        elif chain is None or before is None or block.place != (before.last, before.ordinal + 1):
            return False
        elif block.type is BlockType.CANON_CORRECTION:
            if block.first != chain.last:
                return False
        elif before.type is BlockType.CANON_CORRECTION or block.first != chain.first:
            return False
        before = block
    return True


def problems_of_stage(session: Session, events: Sequence[Event]) -> Problems:
    """Yield problems of absences, now and at each prompt, of hints, and of replies without words."""
    if not session.away.keys() <= set(session.slots) or not all(
        PAUSED <= back_at <= LATEST_RETURN for back_at in session.away.values()
    ):
        yield "a character is away that does not play, or that never returns"
    elif session.away and all(map(session.is_away, session.slots)):
        yield "every character is away"
    if not 0 <= session.hint_after <= MOST_HINT_PROMPTS:
        yield f"it points out characters after more than {MOST_HINT_PROMPTS:,} prompts"
    for event in events:
        if event.role is Role.USER and AWAY in event.metadata and not _is_away(event.metadata[AWAY]):
            yield f"those away at prompt {event.prompt_index} are not characters"
        if event.role is Role.AGENT and not _is_said(event):
            yield f"the reply to prompt {event.prompt_index} is silent in an unknown way"


def _is_away(stored: object) -> bool:
    try:
        return isinstance(stored, Mapping) and bool(read_away(stored))
    except (TypeError, ValueError):
        return False


def _is_said(event: Event) -> bool:
    reason = event.metadata.get(REASON, "")
    is_known = MANNER not in event.metadata or event.metadata[MANNER] in list(Manner)
    return is_known and isinstance(reason, str) and len(reason) <= LONGEST_REASON
