"""Makes the items of the bank for planted facts, as play would store them."""

from collections.abc import Mapping, Sequence
from typing import Final

from bench.canon.facts import Fact
from bench.canon.frames import FactKind
from bench.synthetic_sessions import BEGAN
from core.agents.bank.findings import DECAY_OF
from core.domain.bank.details import Details, FactDetails, PersonDetails, ThreadCategory, ThreadDetails
from core.domain.bank.evidence import Evidence, find_words
from core.domain.bank.item import MOST_EVIDENCE, Item, Validation
from core.domain.ids import ItemId, SessionId, new_uuid
from core.domain.story.event import Event

_DETAILS: Final[Mapping[FactKind, Details]] = {
    # Someone outside the cast, known by trade and place before the story has a name for it: an item that is
    # brought up to date keeps its name.
    FactKind.NAME: PersonDetails(),
    FactKind.NUMBER: FactDetails(),
    # “A promise to keep” and “a plan” are open until play settles them.
    FactKind.PROMISE: ThreadDetails(category=ThreadCategory.GOAL),
    FactKind.SECRET: ThreadDetails(category=ThreadCategory.PLAN),
    # Facts: a state belongs to one of the cast, and neither the owner of the thing nor the house does.
    FactKind.POSSESSION: FactDetails(),
    FactKind.STATE: FactDetails(),
}
"""The details that extraction asks for (`core/agents/prompts/bank_scan.md`) by the kind of a fact."""


def make_item(
    session_id: SessionId, fact: Fact, reply: Event, *, is_kept: bool = False, replaced: Item | None = None
) -> Item:
    """Return the item for a fact that a reply says, by which another one is `replaced`.

    It is as the program makes it: one that is brought up to date keeps its older proof, where that is of
    the same chapter. What is kept is pinned or confirmed by the number of its prompt.
    """
    place = find_words(reply.text, fact.said)
    if place is None:
        raise ValueError("a fact is said word for word")
    index, details = reply.prompt_index, _DETAILS[fact.kind]
    proof = Evidence(prompt_index=index, ordinal=reply.ordinal, words=fact.said, start=place[0], end=place[1])
    older: Sequence[Evidence] = ()
    if replaced is not None and replaced.session_id == session_id:
        older = replaced.evidence
    return Item(
        id=ItemId(new_uuid()),
        session_id=session_id,
        name=fact.about,
        text=fact.said,
        details=details,
        label=reply.audience,
        importance=0.5,
        decay_rate=DECAY_OF[details.kind],
        is_pinned=is_kept and index % 2 == 0,
        validation=Validation.CONFIRMED if is_kept and index % 2 else Validation.NONE,
        prompt_index=index,
        evidence=(proof, *older)[:MOST_EVIDENCE],
        supersedes=None if replaced is None else replaced.id,
        created_at=BEGAN,
        updated_at=BEGAN,
    )
