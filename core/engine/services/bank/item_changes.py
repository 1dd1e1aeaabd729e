"""Applies the GM's changes to an item; pure. Each makes one version of it (design 15)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import reduce
from typing import Any, Final

from core.domain.audience import EVERYONE, Audience
from core.domain.bank.checks import problems_of_item
from core.domain.bank.details import Attribute, Details, ItemKind, QuoteDetails, Relationship, ThreadDetails
from core.domain.bank.evidence import LONGEST_WORDS, Evidence, find_words
from core.domain.bank.item import LONGEST_ITEM_NAME, MOST_EVIDENCE, Item, ItemOrigin, Validation
from core.domain.bank.joining import filled, proved_by
from core.domain.errors import IllegalCommandError
from core.domain.ids import ItemId, new_uuid
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.text.cleaning import clean, clean_line
from core.text.graphemes import head

FEW_TO_MERGE: Final = "At least two items are merged; on the screen, Space marks them."
OTHER_KIND: Final = "Only items of one kind can be merged: a person with a person, a fact with a fact."
OTHER_CHAPTER: Final = "Only items of one chapter can be merged."
REJECTED_ONE: Final = "A rejected item is not merged: bring it back first."
NO_WIDER: Final = "They cannot be merged: a character would be told what it may not know."
MERGED_ALREADY: Final = "They are merged already."
NO_WORDS: Final = f"A quote has the words of one event, from a few letters up to {LONGEST_WORDS} characters."
NOBODY_KNOWS: Final = "No character would know it: choose one."
KEPT_ALREADY: Final = "These words are kept as a quote already; it is among the quotes."
OTHER_WORDS: Final = "A quote has words of its proof. Keep other words of the story as another quote."
GM: Final = "The GM"
_RANKS: Final = {Validation.NONE: 0, Validation.SEEN: 1, Validation.CONFIRMED: 2}


def confirmed(item: Item, *, is_on: bool = True) -> Item:
    """Return the item as confirmed by the GM, or as no longer confirmed."""
    return replace(item, validation=Validation.CONFIRMED if is_on else Validation.SEEN)


def seen(item: Item) -> Item:
    """Return the item as seen by the GM; a decision about it stays."""
    return replace(item, validation=Validation.SEEN) if item.validation is Validation.NONE else item


def rejected(item: Item, *, is_on: bool = True) -> Item:
    """Return the item as rejected: neither recalled nor proposed again; or bring it back."""
    return replace(item, validation=Validation.REJECTED) if is_on else restored(item)


def restored(item: Item) -> Item:
    """Return an item that was rejected or merged as one that counts again."""
    validation = Validation.SEEN if item.validation is Validation.REJECTED else item.validation
    return replace(item, validation=validation, merged_into=None)


def pinned(item: Item, *, is_on: bool = True) -> Item:
    """Return the item as pinned: it never fades and comes first; or as no longer pinned."""
    return replace(item, is_pinned=is_on)


def speaker_of(quote: Item) -> str:
    """Return the name of the speaker of a quote, as it is written within a sentence."""
    return "the GM" if quote.name == GM else quote.name


def closed(item: Item, *, is_on: bool = True) -> Item:
    """Return a thread as closed, or as open again, which no model changes then; others stay as they are."""
    if not isinstance(item.details, ThreadDetails) or item.details.is_closed is is_on:
        return item
    return replace(item, details=replace(item.details, is_closed=is_on), is_by_gm=True)


def edited(item: Item, typed: Item) -> Item:
    """Return it with the GM's text and details; no model overwrites these, or changes their attribution.

    Its label stays: it is that of its sources. Raises IllegalCommandError when the words of a quote differ
    from its proof.
    """
    changed = replace(
        item,
        name=clean_line(typed.name).strip(),
        text=clean(typed.text).strip(),
        details=_cleaned(typed.details) if typed.kind is item.kind else item.details,
        about=typed.about,
        importance=typed.importance,
        confidence=typed.confidence,
        sentiment=typed.sentiment,
        decay_rate=typed.decay_rate,
        expires_at=typed.expires_at,
    )
    is_quoted = item.kind is ItemKind.QUOTE and item.evidence and changed.text != item.text
    if is_quoted and all(find_words(proof.words, changed.text) is None for proof in item.evidence):
        raise IllegalCommandError(OTHER_WORDS)
    return replace(changed, is_by_gm=item.is_by_gm or _said(changed) != _said(item))


def _said(item: Item) -> tuple[object, ...]:
    return item.name, item.text, item.details, item.about


def words_of(item: Item) -> tuple[object, ...]:
    """Return the fields of an item that the GM edits."""
    shares = item.importance, item.confidence, item.sentiment, item.decay_rate
    return *_said(item), *shares, item.expires_at


def merged(items: Sequence[Item]) -> list[Item]:
    """Return what a merge changes: the item that goes on, then those that end in it.

    It is one that most may know: of several the newest that play gave, so that undoing its prompt takes back
    what later prompts told, and the others count by themselves again. It has the words of the GM where one of
    them does, and the evidence and the details of those with its own label. Raises IllegalCommandError.
    """
    if len({item.id for item in items}) < 2:
        raise IllegalCommandError(FEW_TO_MERGE)
    if len({item.kind for item in items}) > 1:
        raise IllegalCommandError(OTHER_KIND)
    if len({item.session_id for item in items}) > 1:
        raise IllegalCommandError(OTHER_CHAPTER)
    if any(item.validation is Validation.REJECTED for item in items):
        raise IllegalCommandError(REJECTED_ONE)
    widest = [item for item in items if all(item.label.includes(other.label) for other in items)]
    if not widest:
        raise IllegalCommandError(NO_WIDER)
    # No prompt takes back an item of the GM's own, so none that play gave goes on in it.
    kept = min(widest, key=lambda item: (item.take is None, -item.prompt_index, item.id))
    worded = next((item for item in (kept, *widest) if item.is_by_gm), kept)
    others = [item for item in items if item.id != kept.id]
    told = sorted(widest, key=lambda item: (item is not worded, item is not kept))
    proofs = (one for item in told for one in item.evidence if one.prompt_index <= kept.prompt_index)
    goes_on = replace(
        kept,
        name=worded.name,
        text=worded.text,
        about=worded.about,
        is_by_gm=worded.is_by_gm,
        confidence=worded.confidence,
        sentiment=worded.sentiment,
        decay_rate=worded.decay_rate,
        expires_at=worded.expires_at,
        validation=max(Validation.SEEN, *(item.validation for item in items), key=_RANKS.__getitem__),
        is_pinned=any(item.is_pinned for item in items),
        importance=max(item.importance for item in items),
        evidence=tuple(dict.fromkeys(proofs))[:MOST_EVIDENCE],
        details=reduce(filled, (item.details for item in told)),
        merged_into=None,
    )
    return [goes_on, *(replace(item, merged_into=kept.id) for item in others)]


@dataclass(frozen=True, slots=True)
class NewItem:
    """Words of an item that the GM adds, with those who know it and the character that it is about."""

    name: str
    text: str
    details: Details
    label: Audience = EVERYONE
    about: Slot | None = None


def own_item(session: Session, now: datetime, added: NewItem) -> Item:
    """Return an item that the GM adds: it is confirmed, and no prompt takes it back.

    Raises IllegalCommandError where no one of the cast is in the label.
    """
    if frozenset(added.label).isdisjoint(session.slots):
        raise IllegalCommandError(NOBODY_KNOWS)
    words = clean_line(added.name).strip(), clean(added.text).strip(), _cleaned(added.details)
    return _own(session, now, NewItem(*words, added.label, added.about), session.prompt_index)


def quote_of(session: Session, event: Event, words: str, now: datetime, items: Iterable[Item] = ()) -> Item:
    """Return the quote of words of an event, for those who heard it; raise IllegalCommandError without.

    Of `items` it proves those whose own proof is in these words.
    """
    place = find_words(event.text, words)
    if place is None:
        raise IllegalCommandError(NO_WORDS)
    start, end = place
    said = event.text[start:end]
    if len(said) > LONGEST_WORDS:
        raise IllegalCommandError(NO_WORDS)
    speaker = head(clean_line(GM if event.slot is None else session.name_of(event.slot)), LONGEST_ITEM_NAME)
    proof = Evidence(
        prompt_index=event.prompt_index,
        take=event.take,
        ordinal=event.ordinal,
        words=said,
        start=start,
        end=end,
    )
    details = QuoteDetails(speaker=speaker, data_item_ids=proved_by((proof,), items))
    quote = NewItem(speaker, said, details, event.audience, event.slot)
    return replace(_own(session, now, quote, event.prompt_index), take=event.take, evidence=(proof,))


def _own(session: Session, now: datetime, added: NewItem, prompt_index: int) -> Item:
    return Item(
        id=ItemId(new_uuid()),
        session_id=session.id,
        name=added.name,
        text=added.text,
        details=added.details,
        about=added.about,
        label=added.label,
        confidence=1.0,
        validation=Validation.CONFIRMED,
        is_by_gm=True,
        origin=ItemOrigin.GM,
        prompt_index=prompt_index,
        take=None,
        created_at=now,
        updated_at=now,
    )


def require_storable(items: Iterable[Item]) -> None:
    """Raise IllegalCommandError, in sentences, if one of them cannot be stored."""
    for item in items:
        if problems := [*problems_of_item(item)]:
            raise IllegalCommandError(" ".join(problems))


def _cleaned(details: Details) -> Details:
    """Return details whose texts have no control characters and no ends of lines."""
    values: dict[str, Any] = {}
    for one in fields(details):
        value = getattr(details, one.name)
        if one.name == "kind":
            continue
        if type(value) is str:
            values[one.name] = clean_line(value).strip()
        elif isinstance(value, tuple):
            values[one.name] = tuple(part for part in map(_cleaned_part, value) if part)
    return replace(details, **values)


def _cleaned_part(part: Any) -> Any:
    """Return one entry of a list of details without such characters; None for one that says nothing."""
    if isinstance(part, str):
        return clean_line(part).strip()
    if isinstance(part, Attribute | Relationship):
        texts: dict[str, Any] = {
            one.name: clean_line(getattr(part, one.name)).strip() for one in fields(part)
        }
        return replace(part, **texts) if all(texts.values()) else None
    return part
