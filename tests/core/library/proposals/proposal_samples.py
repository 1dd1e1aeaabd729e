"""A character with traits and topics, and proposals for it."""

from datetime import UTC, datetime, timedelta

from core.domain.ids import CharacterId, ProposalId, new_uuid
from core.domain.proposal import Occasion, Proposal, ProposedPart, Record
from core.library.characters.character import LibraryCharacter, Topic, Trait

NOW = datetime(2026, 11, 25, 4, tzinfo=UTC)


def mira() -> LibraryCharacter:
    return LibraryCharacter(
        id=CharacterId(new_uuid()),
        name="Mira",
        short_description="Keeps the lamp.",
        identity="Mira keeps the lamp.",
        traits=(Trait(name="Patient", description="She waits.", strength=0.75),),
        topics=(
            Topic(name="The sea", perspective="It takes.", exposure_now=0.25, exposure_desired=1.0),
            Topic(name="Bread", exposure_now=0.05),
        ),
        created_at=NOW - timedelta(days=30),
        updated_at=NOW,
    )


def proposed(
    character: LibraryCharacter, part: ProposedPart, before: tuple[Record, ...], after: tuple[Record, ...]
) -> Proposal:
    return Proposal(
        id=ProposalId(new_uuid()),
        character_id=character.id,
        part=part,
        before=before,
        after=after,
        occasion=Occasion.CHAPTER,
        created_at=NOW,
    )
