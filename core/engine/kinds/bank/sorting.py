"""Compares findings with the items of the bank, and makes the items to store (design 15).

Stored items are not changed: an update is a new item that supersedes the old one. The GM's
words, and items that the GM confirmed or pinned, are not superseded; newer ones are added beside them. Nor
does an item that only some know supersede one that others know, or one of a part that was read late those
of later parts.

Items of the earlier chapters of a book are those of this one as far as its cast knows them: a known one
is not stored twice, and a newer one supersedes it for this chapter and the later ones.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from core.agents.bank.compare import Comparison, Effect, Update
from core.agents.bank.scan_answer import LONGEST_TEXT
from core.context.visibility import items_known_to_all_of
from core.domain.audience import Audience
from core.domain.bank.details import (
    EventDetails,
    ItemKind,
    QuoteDetails,
    StateDetails,
    ThreadDetails,
    TraitDetails,
)
from core.domain.bank.item import MOST_EVIDENCE, Item, Validation, faded_since
from core.domain.bank.joining import followed, proved_by, says_more
from core.domain.bank.matching import BankIndex, Likeness, Match, Similar, has_same_text
from core.domain.ids import ItemId
from core.text.analysis.grounding import Vocabulary
from core.text.analysis.repetition import words_of


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierItem:
    """An item of an earlier chapter of the book with the label and the character that it has in this one."""

    item: Item
    chapter: int
    """The number of the chapter in the book."""
    was_known_to_all: bool
    """Whether everyone in that chapter knew it."""


_SAID_ONCE: Final = frozenset({ItemKind.EVENT, ItemKind.QUOTE})
"""Kinds of which another one that is the same says nothing new."""


@dataclass(slots=True)
class Sorted:
    """Findings by their outcome."""

    new: list[Item] = field(default_factory=list)
    doubtful: list[Comparison] = field(default_factory=list)
    """Findings that may repeat an item."""
    changing: list[Comparison] = field(default_factory=list)
    """Findings that repeat an item, and may change it."""
    known: list[str] = field(default_factory=list)
    """Names of the items that are known already."""
    rejected: list[str] = field(default_factory=list)
    known_before: list[str] = field(default_factory=list)
    """Names of items that an earlier chapter of the book has."""
    rejected_before: list[str] = field(default_factory=list)
    """Names of items that the GM rejected in an earlier chapter."""


class Sorter:
    """The items of the bank that everyone in an audience may know. Make it in a thread."""

    def __init__(self, audience: Audience, items: Iterable[Item], taken_out: Iterable[Item]) -> None:
        """Use the items that count, and those that the GM rejected or merged."""
        self._audience = audience
        items, taken_out = tuple(items), tuple(taken_out)
        self._sequence_number = _last_number((*items, *taken_out))
        known = items_known_to_all_of(audience, items)
        self._by_id = {item.id: item for item in known}
        out = items_known_to_all_of(audience, taken_out)
        self._index = BankIndex(known)
        self._out = BankIndex(out)
        self._replaced: dict[ItemId, Item] = {}
        self._earlier: set[ItemId] = set()
        self._made: list[Item] = []
        self._found: list[Item] = []
        self._stands_for: dict[ItemId, ItemId] = {}
        """Known items, by the ids of findings that repeat them and are not stored."""

    @property
    def made(self) -> tuple[Item, ...]:
        """The items to be stored, in the order of play, with the fields that depend on all of them.

        An event has its number, and a quote the items that are proved by its words.
        """
        happened = sorted((one for one in self._made if one.kind is ItemKind.EVENT), key=_place)
        numbers = {item.id: number for number, item in enumerate(happened, self._sequence_number + 1)}
        return tuple(self._completed(item, numbers) for item in self._made)

    def _completed(self, item: Item, numbers: Mapping[ItemId, int]) -> Item:
        match item.details:
            case EventDetails() as event:
                return replace(item, details=replace(event, sequence_number=numbers[item.id]))
            case QuoteDetails() as quote:
                stored = self._stands_for.keys() | {one.id for one in self._made}
                proved = proved_by(item.evidence, (one for one in self._found if one.id in stored))
                ids = tuple(dict.fromkeys(self._stands_for.get(one, one) for one in proved))
                return replace(item, details=replace(quote, data_item_ids=ids))
            case _:
                return item

    def know_earlier(self, items: Iterable[EarlierItem], taken_out: Iterable[EarlierItem] = ()) -> None:
        """Use items of earlier chapters too, those that count and those that the GM took out."""
        for earlier in items:
            item = earlier.item
            if item.id not in self._by_id and item.label.includes(self._audience):
                self._by_id[item.id] = item
                self._earlier.add(item.id)
                self._index.add(item, earlier.chapter)
        for earlier in taken_out:
            item = earlier.item
            # What the GM rejected for everyone is not proposed to a cast that someone has joined.
            is_refused = item.validation is Validation.REJECTED and earlier.was_known_to_all
            if is_refused or item.label.includes(self._audience):
                self._earlier.add(item.id)
                self._out.add(item, earlier.chapter)

    def sort(self, found: Iterable[Item], similar: Similar | None) -> Sorted:
        """Sort what was found; what is new is made at once. `similar` compares by meaning."""
        result = Sorted()
        for item in found:
            self._found.append(item)
            match = self._match(item, similar)
            if match.likeness is Likeness.NEW:
                result.new.append(item)
                self._add(item)
            elif match.likeness is Likeness.SAME:
                self._is_same(item, match.items[0], result)
            else:
                result.doubtful.append(self._question(item, match.items))
        return result

    def settle_doubts(self, questions: Sequence[Comparison], chosen: Sequence[Item | None]) -> Sorted:
        """Sort what was doubtful by the item that each is the same as."""
        result = Sorted()
        for question, same in zip(questions, chosen, strict=True):
            if same is None:
                result.new.append(question.new)
                self._add(question.new)
            else:
                self._is_same(question.new, same, result)
        return result

    def update(self, questions: Sequence[Comparison], updates: Sequence[Update]) -> list[str]:
        """Make items that update known ones; return the names of findings that change nothing."""
        known: list[str] = []
        for question, update in zip(questions, updates, strict=True):
            new, old = question.new, question.known[0]
            if update.change is Effect.NONE:
                self._is_known(new, old, known)
            elif text := _updated_text(update, new, old):
                self._supersede(new, old, text)
            else:
                self._add(new)
        return known

    def _match(self, item: Item, similar: Similar | None) -> Match:
        match, out = self._index.match(item, similar), self._out.match(item, similar)
        if out.likeness is Likeness.SAME and has_same_text(item, out.items[0]):
            return out
        if Likeness.SAME in (match.likeness, out.likeness):
            return match if match.likeness is Likeness.SAME else out
        # A model is asked about nothing that not all of the audience know.
        asked = items_known_to_all_of(self._audience, (*match.items, *out.items))
        return Match(Likeness.DOUBTFUL, tuple(asked)) if asked else Match()

    def _is_same(self, item: Item, same: Item, result: Sorted) -> None:
        if same.merged_into is not None and same.merged_into in self._by_id:
            same = self._by_id[same.merged_into]
        is_earlier = same.id in self._earlier
        known = result.known_before if is_earlier else result.known
        if same.validation is Validation.REJECTED:
            (result.rejected_before if is_earlier else result.rejected).append(item.name)
        elif same.is_out:
            known.append(item.name)
        elif item.kind in _SAID_ONCE:
            self._note_known(item, same, known)
        elif has_same_text(item, same):
            self._is_known(item, same, known)
        elif item.kind is ItemKind.STATE:
            self._supersede(item, same, item.text)
        else:
            result.changing.append(self._question(item, (same,)))

    def _is_known(self, item: Item, same: Item, known: list[str]) -> None:
        """Note that something is there as it is.

        That a skill was used once more counts all the same, and so do a quality or a relation that is new,
        and the end of a thread or a state.
        """
        while same.id in self._replaced:
            same = self._replaced[same.id]
        if _settles(item, same):
            self._supersede(item, same, same.text)
            return
        if (_is_used(item) or says_more(item.details, same.details)) and _may_replace(same, item):
            self._supersede(item, same, same.text)
            return
        self._note_known(item, same, known)

    def _note_known(self, item: Item, same: Item, known: list[str]) -> None:
        known.append(item.name)
        # A quote names items of its own chapter: the others are exported without it.
        if same.session_id == item.session_id:
            self._stands_for[item.id] = same.id

    def _question(self, item: Item, known: Collection[Item]) -> Comparison:
        return Comparison(item, items_known_to_all_of(self._audience, known))

    def _supersede(self, new: Item, old: Item, text: str) -> None:
        while old.id in self._replaced:
            old = self._replaced[old.id]
        if not _may_replace(old, new):
            self._add(new)
            return
        is_state = new.kind is ItemKind.STATE
        # The proof of an item is in its own chapter.
        has_proof_there = is_state or old.session_id != new.session_id
        made = replace(
            new,
            name=old.name,
            text=text,
            details=new.details if is_state else followed(new.details, old.details, faded_since(old, new)),
            importance=max(new.importance, old.importance),
            confidence=max(new.confidence, old.confidence),
            evidence=new.evidence if has_proof_there else (*new.evidence, *old.evidence)[:MOST_EVIDENCE],
            supersedes=old.id,
        )
        self._replaced[old.id] = made
        self._add(made)

    def _add(self, item: Item) -> None:
        self._made.append(item)
        self._by_id[item.id] = item
        self._index.add(item)


def _may_replace(old: Item, new: Item) -> bool:
    """Whether an item may be superseded by another; not by one that was played before it, and read late."""
    is_later = old.session_id == new.session_id and old.prompt_index > new.prompt_index
    return not (old.is_kept or is_later) and old.label == new.label


def _updated_text(update: Update, new: Item, old: Item) -> str | None:
    """Return the text that supersedes that of an item; None where both together are too long for one.

    It is the model's where that has no name and no number of its own. What adds to an item loses nothing: the
    text keeps names and numbers of both, and a text that is not the model's is both one after the other.
    """
    both = f"{old.text} {new.text}"
    source = Vocabulary.of((both, old.name, new.name))
    text = new.text if any(source.unknown_in(update.text, is_paraphrase=True)) else update.text
    if update.change is not Effect.ADDS or set(words_of(old.text)) <= set(words_of(text)):
        return text
    if text == new.text or any(Vocabulary.of((text,)).unknown_in(both, is_paraphrase=True)):
        return both if len(both) <= LONGEST_TEXT else None
    return text


def _place(item: Item) -> tuple[int, int, int, int]:
    proof = item.evidence[0]
    return *proof.place, proof.start


def _last_number(items: Iterable[Item]) -> int:
    """Return the highest number of an event; those of an older version of the program have none."""
    events = [one.details.sequence_number for one in items if isinstance(one.details, EventDetails)]
    return max(len(events), *(one or 0 for one in events), 0)


def _settles(new: Item, old: Item) -> bool:
    """Whether play closed a thread, or a state ended or holds again: the same words may say so."""
    match new.details, old.details:
        case ThreadDetails() as thread, ThreadDetails() as known:
            return thread.is_closed and not known.is_closed
        case StateDetails() as state, StateDetails() as before:
            return state.is_over is not before.is_over
        case _:
            return False


def _is_used(item: Item) -> bool:
    """Whether play used what a character can do: that counts, also where nothing else is new."""
    return isinstance(item.details, TraitDetails) and item.details.performance is not None
