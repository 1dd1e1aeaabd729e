"""Changes to a session by one outcome (design 6)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.domain.bank.item import Item, ItemAccess
from core.domain.ids import SessionId
from core.domain.proposal import Proposal
from core.domain.requests.request import Artifact, Content, Request
from core.domain.session.lore import Lorebooks
from core.domain.session.prompt_block import PromptBlocks
from core.domain.session.session import Session, Tab1Inputs
from core.domain.slot import Slot
from core.domain.story.condensed import CondensedMemory
from core.domain.story.context_status import Statuses
from core.domain.story.draft import NarrativeDraft
from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock
from core.domain.story.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The changes of one transaction. None and empty values change nothing.

    `session`, `tab1`, `prompt_blocks`, `secrets` and `lore` replace the whole record. Requests are inserted
    or, by id, replaced. Events, blocks, drafts, artifacts, proposals and items are only added. `unsent`
    replaces the text in the composer of each slot that it names; an empty text clears it. `statuses` replaces
    the status of each event that it names. The takes of `events` and the `blocks` become canon at their
    places; those that are stored already are not stored again.
    """

    session_id: SessionId
    session: Session | None = None
    tab1: Tab1Inputs | None = None
    prompt_blocks: PromptBlocks | None = None
    secrets: tuple[Secret, ...] | None = None
    lore: Lorebooks | None = None
    unsent: Mapping[Slot, str] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    statuses: Statuses = ()
    blocks: tuple[MemoryBlock, ...] = ()
    takes: Mapping[int, int] | None = None
    """For a new session: the take that is canon at each prompt; None where `events` has one of each."""
    revisions: tuple[MemoryBlock, ...] = ()
    """Blocks that are not canon: those of a new session, and deltas of a chunk that is not complete yet."""
    canon_end: int | None = None
    """Prompts beyond it that were undone can no longer be redone; their takes stay in the log."""
    memory_end: int | None = None
    """Blocks that end beyond it are no longer canon."""
    condensed: tuple[CondensedMemory, ...] = ()
    drafts: tuple[NarrativeDraft, ...] = ()
    requests: tuple[Request, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    contents: tuple[Content, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    """For characters of the library, which are stored with the outcome that they are from."""
    items: tuple[Item, ...] = ()
    """Of the memory bank, each version once; a version that is there already is not stored again."""
    accesses: tuple[ItemAccess, ...] = ()
    """The items that were recalled, with their new counts."""

    @property
    def secret_end(self) -> int | None:
        """The last secret, if they are replaced: those with a greater number are removed."""
        return None if self.secrets is None else len(self.secrets)

    @property
    def lore_end(self) -> int | None:
        """The number of lorebooks, if they are replaced: those with a greater number are removed."""
        return None if self.lore is None else len(self.lore)
