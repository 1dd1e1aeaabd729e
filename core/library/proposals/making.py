"""Makes the proposals for one character of one chapter."""

from dataclasses import dataclass
from datetime import datetime

from core.domain.ids import ProposalId, RequestId, SessionId, new_uuid
from core.domain.proposal import Occasion, Proposal, ProposedPart, Record
from core.library.characters.character import LibraryCharacter

Records = tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class ProposalMaker:
    """Makes proposals for a character; `request_id` is that of the answer, where a model was asked."""

    character: LibraryCharacter
    session_id: SessionId
    now: datetime
    request_id: RequestId | None = None

    def made(
        self, part: ProposedPart, before: Records, after: Records, why: str, occasion: Occasion
    ) -> Proposal:
        """Return the proposal to replace the records `before` by those of `after`."""
        return Proposal(
            id=ProposalId(new_uuid()),
            character_id=self.character.id,
            part=part,
            before=before,
            after=after,
            why=why,
            occasion=occasion,
            session_id=self.session_id,
            request_id=self.request_id,
            created_at=self.now,
        )
