"""A draft is one narrative built from a session; drafts are numbered and never overwritten (design 2)."""

from dataclasses import dataclass
from datetime import datetime

from core.domain.ids import BlockId, DraftId, RequestId, SessionId
from core.text.prose import word_count


@dataclass(frozen=True, slots=True)
class SourceSnapshot:
    """Canon and memory that a draft was built from."""

    prompt_index: int
    block_ids: tuple[BlockId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NarrativeDraft:
    """One text of the chapter's prose, with the definition that shaped it."""

    id: DraftId
    session_id: SessionId
    version: int
    request_id: RequestId | None
    definition: str
    target_words: int | None
    source: SourceSnapshot
    model: str
    text: str
    created_at: datetime

    @property
    def words(self) -> int:
        """The number of words that were written."""
        return word_count(self.text)
