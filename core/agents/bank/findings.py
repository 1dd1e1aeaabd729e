"""Findings of a model in a part of play, and the words of an event that prove them (design 15)."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from core.domain.audience import Audience
from core.domain.bank.checks import problems_of_item
from core.domain.bank.details import (
    Aspect,
    Details,
    Exposed,
    FactDetails,
    ItemKind,
    PersonDetails,
    PlaceDetails,
    QuoteDetails,
    StateDetails,
    TraitDetails,
)
from core.domain.bank.evidence import Evidence, find_words
from core.domain.bank.item import LONGEST_ITEM_NAME, LONGEST_TEXT, Item
from core.domain.ids import ItemId, RequestId, SessionId, new_uuid
from core.domain.session.language import Language
from core.domain.slot import Slot
from core.domain.story.event import Event, Role
from core.library.proposals.exposure import after_mentions, named_in
from core.text.analysis.grounding import Vocabulary
from core.text.analysis.repetition import words_of
from core.text.graphemes import head
from core.text.name_list import name_key
from core.text.numbers import counted

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


CERTAIN: Final = 0.9
"""Confidence of a fact that the GM tells: it happened."""
SAID: Final = 0.6
"""Confidence of a character's words: that character believes or tries it."""
DECAY_OF: Final[Mapping[ItemKind, float]] = {
    ItemKind.EVENT: 0.004,
    ItemKind.FACT: 0.002,
    ItemKind.PERSON: 0.001,
    ItemKind.PLACE: 0.001,
    ItemKind.THREAD: 0.002,
    ItemKind.QUOTE: 0.005,
    ItemKind.TRAIT: 0.001,
    ItemKind.STATE: 0.004,
}
"""Decay of importance for each prompt, by kind."""
LASTS: Final[Mapping[Aspect, int]] = {Aspect.MOOD: 20, Aspect.WHEREABOUTS: 60}
"""For how many prompts such a state is taken to hold; others hold until something ends them."""
_NAME_OF_WORDS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a model says was played; `words` are to prove it."""

    details: Details
    name: str
    text: str
    words: str
    prompt: int | None = None
    """The prompt of the event that has the words; None for the first event that has them."""
    about: Slot | None = None
    importance: float = 0.5
    sentiment: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A part of play: the events that may prove a finding, who was given them, and where it ends."""

    session_id: SessionId
    request_id: RequestId
    label: Audience
    events: tuple[Event, ...]
    prompt_index: int
    """The last prompt of the chunk, on which what is made of it depends."""
    take: int
    names: Mapping[Slot, str]
    """The cast."""
    other_names: Collection[str] = ()
    """Further names that mean a character of the cast."""
    known_names: Collection[str] = ()
    """The people and places outside the cast that are known."""
    definitions: tuple[str, ...] = ()
    """The GM's world and chapter text, which every character is given."""
    analysed: tuple[Event, ...] = ()
    """The events of the chunk: how often they name something is how much play spoke of it."""
    language: Language = Language.ENGLISH

    @property
    def all_names(self) -> tuple[str, ...]:
        """Return every name that may be told without an event that has it."""
        return (*self.names.values(), *self.other_names, *self.known_names)


def items_of(findings: Iterable[Finding], source: Source, now: datetime) -> tuple[list[Item], list[Finding]]:
    """Return the items of proved findings, and the other findings."""
    cast = set(map(name_key, (*source.names.values(), *source.other_names)))
    texts = (event.text for event in source.events)
    told = Vocabulary.of((*texts, *source.all_names, *source.definitions))
    items, unproved = list[Item](), list[Finding]()
    for found in findings:
        finding = _called_as_told(found, source.language, told)
        if isinstance(finding.details, PersonDetails) and name_key(finding.name) in cast:
            continue  # Someone of the cast: what is new of it is a state, a trait or a fact.
        item = _item(finding, source, told, now) if finding.name else None
        if item is None:
            unproved.append(found)
        else:
            items.append(item)
            if finding.name != found.name:
                unproved.append(replace(found, name=f"{found.name} (its name)"))
            if not _is_grounded(finding.text, source.language, told):
                unproved.append(replace(finding, name=f"{finding.name} (its text)"))
            unproved += (
                replace(finding, name=f"{finding.name} ({one})")
                for one in lost(finding.details, item.details)
            )
    return items, unproved


def unproved_in_words(unproved: Sequence[Finding]) -> tuple[str, ...]:
    """Return the note on a call whose answer had something without a proof."""
    return _noted(
        [finding.name for finding in unproved],
        "had no evidence and was dropped",
        "had no evidence and were dropped",
    )


def known_in_words(names: Sequence[str], *, is_earlier: bool = False) -> tuple[str, ...]:
    """Return the note on a call that found what the bank has; `is_earlier`: that of an earlier chapter."""
    where = "in the bank of an earlier chapter" if is_earlier else "in the bank already"
    return _noted(names, f"is {where}", f"are {where}")


def rejected_in_words(names: Sequence[str], *, is_earlier: bool = False) -> tuple[str, ...]:
    """Return the note on a call that found what the GM has rejected; `is_earlier`: in an earlier chapter."""
    when = "rejected in an earlier chapter" if is_earlier else "rejected before"
    return _noted(names, f"was {when}", f"were {when}")


def _noted(names: Sequence[str], one: str, several: str) -> tuple[str, ...]:
    if not names:
        return ()
    listed = ", ".join(f"“{head(name, _NAME_OF_WORDS)}”" for name in names)
    return (f"{counted(len(names), f'item {one}', f'items {several}')}: {listed}",)


def _called_as_told(finding: Finding, language: Language, told: Vocabulary) -> Finding:
    """Return a person or place by the part of its name that play has: later texts may use that name."""
    is_checked = isinstance(finding.details, PersonDetails | PlaceDetails) and language is not Language.GERMAN
    return replace(finding, name=told.told_part(finding.name)) if is_checked else finding


def _is_grounded(text: str, language: Language, told: Vocabulary) -> bool:
    """Whether play has the numbers and names of a text; German nouns are told from no name."""
    unknown = told.unknown_in(text, is_paraphrase=True)
    return not any(language is not Language.GERMAN or not one.isalpha() for one in unknown)


def _item(finding: Finding, source: Source, told: Vocabulary, now: datetime) -> Item | None:
    proof = _proof(finding, source.events)
    if proof is None:
        return None
    event, evidence = proof
    details, about, text = finding.details, finding.about, finding.text
    if isinstance(details, QuoteDetails) or not _is_grounded(text, source.language, told):
        text = " ".join(evidence.words.split())
    if isinstance(details, QuoteDetails) and event.slot is not None:
        details, about = replace(details, speaker=source.names.get(event.slot, "")), event.slot
    text, name = head(text, LONGEST_TEXT), head(finding.name, LONGEST_ITEM_NAME)
    details = proved_details(
        details, name, evidence, events=source.events, names=source.all_names, analysed=source.analysed
    )
    lasts = LASTS.get(details.aspect) if isinstance(details, StateDetails) else None
    item = Item(
        id=ItemId(new_uuid()),
        session_id=source.session_id,
        name=name.strip(),
        text=text.strip(),
        details=details,
        about=about,
        label=source.label,
        importance=finding.importance,
        confidence=SAID if event.role is Role.AGENT else CERTAIN,
        sentiment=finding.sentiment,
        decay_rate=DECAY_OF[details.kind],
        prompt_index=source.prompt_index,
        take=source.take,
        evidence=(evidence,),
        expires_at=None if lasts is None else source.prompt_index + lasts,
        request_id=source.request_id,
        created_at=now,
        updated_at=now,
    )
    return None if any(problems_of_item(item)) else item


def _proof(finding: Finding, events: Sequence[Event]) -> tuple[Event, Evidence] | None:
    for event in events:
        if finding.prompt is not None and event.prompt_index != finding.prompt:
            continue
        place = find_words(event.text, finding.words)
        if place is not None:
            start, end = place
            return event, Evidence(
                prompt_index=event.prompt_index,
                take=event.take,
                ordinal=event.ordinal,
                words=event.text[start:end],
                start=start,
                end=end,
            )
    return None
