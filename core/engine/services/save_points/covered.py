"""Part of the story that an earlier save point covers: the next one reads and hashes only the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock
from core.domain.story.save_point import (
    LINKS,
    Chains,
    SavePoint,
    SavePointContent,
    SavePointDamagedError,
    content_of,
)
from core.storage.snapshot import Snapshot

Revisions = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """Holds what the hash chains of a save point cover; those of a new one extend them."""

    chains: Chains
    prompt_index: int
    lines: int = 0
    """Lines and further replies at that prompt; later ones were added since."""
    takes: Mapping[int, int] = field(default_factory=dict)
    memory: tuple[int, int] = (-1, 0)
    """The place of the last block of memory."""
    revisions: Revisions = ()
    draft_count: int = 0

    @classmethod
    def of(cls, content: SavePointContent) -> "Covered":
        """Return what a save point covers."""
        session = content.session
        return cls(
            chains=content.chains,
            prompt_index=session.prompt_index,
            lines=content.lines,
            takes=content.takes,
            memory=(session.boundary, content.corrections) if session.tab1_locked else NOTHING.memory,
            revisions=content.revisions,
            draft_count=content.draft_count,
        )

    def added(self, events: Sequence[Event]) -> Sequence[Event]:
        """Return which of these events are not covered; they are all of a prompt, or none of it."""
        last = [event for event in events if event.prompt_index == self.prompt_index and event.is_added]
        return (*last[self.lines :], *(event for event in events if event.prompt_index > self.prompt_index))

    def extended_revisions(self, new: Sequence[MemoryBlock], past: Sequence[MemoryBlock]) -> Revisions:
        """Return where memory is not the first revision of each block, with the blocks added to canon.

        `past` are those of canon that was changed.
        """
        revisions = {(last, ordinal): revision for last, ordinal, revision in self.revisions}
        revisions |= {block.place: 0 for block in past}
        revisions |= {block.place: block.revision for block in new}
        return tuple((*place, revision) for place, revision in sorted(revisions.items()) if revision != 1)


NOTHING: Final = Covered(chains=Chains(version=LINKS), prompt_index=-1)
"""Nothing, where no save point can be extended: all of the story is to be read."""


def covered_by(taken: Sequence[SavePoint], snapshot: Snapshot) -> Covered:
    """Return what the newest save point covers, if its chains can be extended to `snapshot`; else NOTHING."""
    content = _newest_content(taken)
    return Covered.of(content) if content is not None and _may_precede(content, snapshot) else NOTHING


def _newest_content(taken: Sequence[SavePoint]) -> SavePointContent | None:
    """Return the content of the valid save point with the most prompts and links of the newest version."""
    for point in sorted(taken, key=lambda point: (point.prompt_index, point.taken_at), reverse=True):
        try:
            content = content_of(point)
        except SavePointDamagedError:
            continue
        if content.chains.version == LINKS:
            return content
    return None


def _may_precede(known: SavePointContent, snapshot: Snapshot) -> bool:
    """Whether the chains of a save point can be extended to those of `snapshot`, which may be older."""
    before, session = known.session, snapshot.session
    return (
        before.canon_version == session.canon_version
        and before.prompt_index <= session.prompt_index
        and (before.boundary, known.corrections) <= (session.boundary, snapshot.last_ordinal)
        and known.draft_count <= snapshot.draft_count
    )
