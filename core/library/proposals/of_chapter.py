"""The proposals after a chapter that need no model: exposure, fading, and what says the same (design 17)."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from core.domain.ids import ProposalId, SessionId, new_uuid
from core.domain.proposal import Occasion, Proposal, ProposedPart
from core.library.characters.character import LibraryCharacter, Topic, record_of
from core.library.proposals.exposure import after_mentions, faded, mentions
from core.library.proposals.merging import Item, duplicates, merged
from core.library.proposals.taking import change_of


def of_exposure(
    character: LibraryCharacter, texts: Sequence[str], session_id: SessionId, now: datetime
) -> Iterator[Proposal]:
    """Yield a higher exposure for each topic that the texts mention."""
    for topic in character.topics:
        count = mentions(topic, texts)
        exposure = after_mentions(topic.exposure_now, count)
        if count and exposure != topic.exposure_now:
            why = f"The chapter mentions it in {count:,} of {character.name}'s prompts and replies."
            yield _exposure(character, topic, exposure, why, Occasion.EXPOSURE, session_id, now)


def of_fading(
    character: LibraryCharacter, texts: Sequence[str], session_id: SessionId, now: datetime
) -> Iterator[Proposal]:
    """Yield a lower exposure for each topic that the texts do not mention."""
    for topic in character.topics:
        exposure = faded(topic.exposure_now)
        if exposure != topic.exposure_now and not mentions(topic, texts):
            why = f"None of {character.name}'s prompts and replies in the chapter mentions it."
            yield _exposure(character, topic, exposure, why, Occasion.FADE, session_id, now)


def of_merging(character: LibraryCharacter, session_id: SessionId, now: datetime) -> Iterator[Proposal]:
    """Yield one trait or topic in the place of each two that say the same."""
    yield from _merged(character, ProposedPart.TRAIT, character.traits, session_id, now)
    yield from _merged(character, ProposedPart.TOPIC, character.topics, session_id, now)


def _merged(
    character: LibraryCharacter,
    part: ProposedPart,
    items: Sequence[Item],
    session_id: SessionId,
    now: datetime,
) -> Iterator[Proposal]:
    for one, other in duplicates(items):
        made = merged(one, other)
        if made is not None:
            yield Proposal(
                id=ProposalId(new_uuid()),
                character_id=character.id,
                part=part,
                before=(record_of(one), record_of(other)),
                after=(record_of(made),),
                why=f"“{one.name}” and “{other.name}” say the same in almost the same words.",
                occasion=Occasion.MERGE,
                session_id=session_id,
                created_at=now,
            )


def _exposure(
    character: LibraryCharacter,
    topic: Topic,
    exposure: float,
    why: str,
    occasion: Occasion,
    session_id: SessionId,
    now: datetime,
) -> Proposal:
    before, after = change_of(topic, exposure_now=exposure)
    return Proposal(
        id=ProposalId(new_uuid()),
        character_id=character.id,
        part=ProposedPart.TOPIC,
        before=(before,),
        after=(after,),
        why=why,
        occasion=occasion,
        session_id=session_id,
        created_at=now,
    )
