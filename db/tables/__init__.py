"""The tables of the store, with every rule that a constraint can express (design 4).

Every table below `session` has a primary key that begins with `session_id`, and its foreign keys and unique
constraints include that column, so the schema can be sharded by it. The library is below no session, and has
keys of its own. Rules that no constraint can express
(append-only, a locked tab 1, a prompt with its reply) are triggers in the migrations;
`docs/database-rules.md` lists those that neither can.
"""

from typing import Final

from db.tables.bank import BankAccessRow, BankItemRow, BankRevisionRow, BankWordRow
from db.tables.columns import Row, table_of
from db.tables.library import (
    BookChapterRow,
    BookRow,
    CastCardRow,
    CastMemberRow,
    CastNameRow,
    CastProposalRow,
    CastTopicRow,
    CastTraitRow,
    LorebookRow,
)
from db.tables.request import LaneCallRow, LlmArtifactRow, LlmContentRow, LlmRequestRow, QueueStateRow
from db.tables.session import (
    PromptBlocksRow,
    SaveSlotRow,
    SecretRow,
    SessionLorebookRow,
    SessionRow,
    Tab1InputRow,
    UnsentTextRow,
)
from db.tables.story import (
    CanonRow,
    CondensedMemoryRow,
    EventRow,
    EventStatusRow,
    MemoryBlockRow,
    MemoryCanonRow,
    NarrativeDraftRow,
)

METADATA: Final = Row.metadata
SESSION: Final = table_of(SessionRow)
TAB1_INPUT: Final = table_of(Tab1InputRow)
PROMPT_BLOCKS: Final = table_of(PromptBlocksRow)
SECRET: Final = table_of(SecretRow)
SESSION_LOREBOOK: Final = table_of(SessionLorebookRow)
SAVE_SLOT: Final = table_of(SaveSlotRow)
UNSENT_TEXT: Final = table_of(UnsentTextRow)
EVENT: Final = table_of(EventRow)
EVENT_STATUS: Final = table_of(EventStatusRow)
CANON: Final = table_of(CanonRow)
MEMORY_BLOCK: Final = table_of(MemoryBlockRow)
MEMORY_CANON: Final = table_of(MemoryCanonRow)
CONDENSED_MEMORY: Final = table_of(CondensedMemoryRow)
NARRATIVE_DRAFT: Final = table_of(NarrativeDraftRow)
LLM_REQUEST: Final = table_of(LlmRequestRow)
LLM_ARTIFACT: Final = table_of(LlmArtifactRow)
LLM_CONTENT: Final = table_of(LlmContentRow)
BANK_ITEM: Final = table_of(BankItemRow)
BANK_REVISION: Final = table_of(BankRevisionRow)
BANK_ACCESS: Final = table_of(BankAccessRow)
BANK_WORD: Final = table_of(BankWordRow)
QUEUE_STATE: Final = table_of(QueueStateRow)
LANE_CALL: Final = table_of(LaneCallRow)
CAST_MEMBER: Final = table_of(CastMemberRow)
CAST_NAME: Final = table_of(CastNameRow)
CAST_TRAIT: Final = table_of(CastTraitRow)
CAST_TOPIC: Final = table_of(CastTopicRow)
CAST_CARD: Final = table_of(CastCardRow)
CAST_PROPOSAL: Final = table_of(CastProposalRow)
LOREBOOK: Final = table_of(LorebookRow)
BOOK: Final = table_of(BookRow)
BOOK_CHAPTER: Final = table_of(BookChapterRow)
