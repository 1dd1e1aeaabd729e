"""The one gate for what a character may know (design 13): `known_to` decides it, and nothing else can.

The input of a character is built from a `Knowledge` alone, which only `known_to` makes. Today everybody
knows all of the story; what is kept from a character is kept from it here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from core.context.canon_locks import with_gm_locks
from core.domain.cast import Character
from core.domain.session import Session
from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock

_GATE: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What a character knows: who it is, the memory it has, and what it has just witnessed.

    Raises TypeError unless it is made by `known_to`.
    """

    character: Character
    session: Session
    blocks: tuple[MemoryBlock, ...]
    recent: tuple[Event, ...]
    gate: object = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.gate is not _GATE:
            raise TypeError("what a character knows is decided by known_to")


def known_to(
    character: Character,
    session: Session,
    blocks: Sequence[MemoryBlock],
    recent: Sequence[Event],
) -> Knowledge:
    """Return what a character may know of the memory and the recent events of a session."""
    return Knowledge(
        character=character,
        session=session,
        blocks=with_gm_locks(session, blocks),
        recent=tuple(recent),
        gate=_GATE,
    )
