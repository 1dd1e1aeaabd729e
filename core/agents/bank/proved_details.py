"""Keeps the details of a finding that play supports, and adds those that the program counts (design 15)."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from core.domain.bank.details import (
    Details,
    Exposed,
    FactDetails,
    PersonDetails,
    PlaceDetails,
    TraitDetails,
)
from core.domain.bank.evidence import Evidence
from core.domain.story.event import Event
from core.library.proposals.exposure import after_mentions, named_in
from core.text.analysis.repetition import words_of

_Described: Final = FactDetails | PersonDetails | PlaceDetails


def proved_details(
    details: Details,
    name: str,
    proof: Evidence,
    *,
    events: Iterable[Event],
    names: Iterable[str],
    analysed: Iterable[Event],
) -> Details:
    """Return the details that the prompt of `proof`, or a reply to it, supports.

    The value of an attribute and the target of a relationship must be in its words or be one of `names`;
    the others go. How much was spoken of a person or a thread called `name` is counted in the events
    `analysed`, and a skill was used last at that prompt.
    """
    if isinstance(details, _Described) and (details.attributes or details.relationships):
        texts = (event.text for event in events if event.prompt_index == proof.prompt_index)
        told = {word for text in (*texts, *names) for word in words_of(text)}
        details = replace(
            details,
            attributes=tuple(one for one in details.attributes if _is_told(one.value, told)),
            relationships=tuple(one for one in details.relationships if _is_told(one.target, told)),
        )
    if isinstance(details, Exposed):
        count = named_in(name, (event.text for event in analysed))
        return replace(details, exposure_current=after_mentions(0.0, max(1, count)))
    if isinstance(details, TraitDetails) and details.performance is not None:
        # What was told before the first prompt was no use of it that a prompt could name.
        used = replace(details.performance, last_execution=proof.prompt_index or None)
        return replace(details, performance=used)
    return details


def lost(found: Details, kept: Details) -> Iterator[str]:
    """Yield, in words, the attributes and relationships that were found and are not kept."""
    if isinstance(found, _Described) and isinstance(kept, _Described):
        yield from (one.name for one in found.attributes if one not in kept.attributes)
        yield from (
            f"{one.relation} {one.target}" for one in found.relationships if one not in kept.relationships
        )


def _is_told(text: str, told: set[str]) -> bool:
    words = words_of(text)
    return bool(words) and told.issuperset(words)
