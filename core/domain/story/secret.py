"""The GM's secrets: a text, its knowers, and the time and audience of its reveal (design 13)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from core.domain.audience import Audience, audience_of
from core.domain.session.profile import Profiles, audience_of_groups
from core.domain.slot import Slot
from core.domain.story.event import Event

MOST_SECRETS: Final = 50
"""Maximum number of secrets in a chapter."""
LONGEST_SECRET: Final = 2_000
"""Characters of one secret; each is in every input of those who know it."""
LONGEST_SECRETS: Final = 10_000
"""Characters of all secrets of a chapter together."""

LATEST_REVEAL: Final = 1_000_000
"""The last prompt at which a reveal can be planned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """One secret. `number` counts the secrets of a chapter from 1, and stays."""

    number: int
    text: str
    known_by: Audience
    """Those who know it from the beginning."""
    groups: tuple[str, ...] = ()
    """Those who see one of these groups know it as well. Who that is, the lock adds to `known_by`."""
    reveal_at: int | None = None
    """It is revealed when this prompt, or a later one, is sent; None if only the GM reveals it."""
    reveal_to: Audience | None = None
    """Those who learn it then; set exactly if `reveal_at` is."""


@dataclass(frozen=True, slots=True)
class Reveal:
    """A canonical event that told a secret to its audience."""

    prompt_index: int
    number: int
    audience: Audience


def settled(secrets: tuple[Secret, ...], slots: Iterable[Slot], profiles: Profiles) -> tuple[Secret, ...]:
    """Return the secrets, known also to those of a cast who see their groups now."""
    if not any(secret.groups for secret in secrets):
        return secrets
    cast = tuple(slots)
    return tuple(_settled(secret, cast, profiles) if secret.groups else secret for secret in secrets)


def _settled(secret: Secret, cast: tuple[Slot, ...], profiles: Profiles) -> Secret:
    seeing = audience_of_groups(secret.groups, cast, profiles)
    return replace(secret, known_by=audience_of((*secret.known_by, *seeing), cast))


def reveals_in(events: Iterable[Event]) -> tuple[Reveal, ...]:
    """Return the reveals among `events`."""
    return tuple(
        Reveal(event.prompt_index, number, event.audience)
        for event in events
        if (number := event.reveals) is not None
    )


def label_of(secret: Secret, reveals: Iterable[Reveal]) -> Audience:
    """Return who may know a secret, given the reveals that are canon."""
    label = secret.known_by
    for reveal in reveals:
        if reveal.number == secret.number:
            label |= reveal.audience
    return label


def is_due(secret: Secret, reveals: Iterable[Reveal], prompt_index: int) -> bool:
    """Whether the secret is still to be revealed when prompt `prompt_index` is sent."""
    if secret.reveal_at is None or secret.reveal_to is None or secret.reveal_at > prompt_index:
        return False
    return not label_of(secret, reveals).includes(secret.reveal_to)
