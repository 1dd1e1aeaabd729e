"""Hits of a search in the texts of one chapter (design 15)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from core.domain.bank.recall import Found
from core.domain.ids import SessionId
from core.domain.session.session import Session
from core.engine.recall.texts import PLACES, HitPlace, SearchedTexts, Text
from core.engine.recall.words import Matcher
from core.text.cleaning import clean_line
from core.text.graphemes import Span, head, tail, without_begun_word

MOST_HITS: Final = 50
"""Hits of each place."""
_BEFORE, _AFTER = 60, 140
"""Characters of an excerpt before and after the first word."""
GivenUp = Callable[[], bool]
"""Whether a search is outdated, so that the rest of it is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One text that was found."""

    session_id: SessionId
    chapter: int
    """Its number among the chapters that were searched, from 1."""
    place: HitPlace
    prompt: int | None = None
    """The last prompt that it is from; None for a draft."""
    told: str = ""
    """Its place in words, where the number of a prompt does not say it: a range, a correction."""
    source: str
    """Id of its source: the ordinal of an event, the id of a block or an item, the number of a draft."""
    part: int = 0
    """Index of the text within its block, from 0."""
    who: str = ""
    """The name of the speaker, of the item, or of the section of memory."""
    excerpt: str
    text: str
    start: int = 0
    end: int
    """The first word that was found, as characters of the text; all of it where its meaning was."""
    instead: str = ""
    """The search that found it, where nothing has the words that were typed."""
    similarity: float | None = None
    """The cosine of a text found by meaning, or of an item that this event proves."""
    has_words: bool = True
    """Whether it has a word that was searched for; else it was found by its meaning alone."""

    @property
    def by_meaning(self) -> str:
        """Return how near it is, where it was found by its meaning alone; else an empty text."""
        return "" if self.has_words or self.similarity is None else f"≈{self.similarity:.2f} "

    @property
    def prompts(self) -> str:
        """The prompts that it is from, in words; empty for a draft."""
        return self.told or ("" if self.prompt is None else f"prompt {self.prompt:,}")

    @property
    def where(self) -> tuple[SessionId, HitPlace, int | None, str, int]:
        """Identity of the text."""
        return self.session_id, self.place, self.prompt, self.source, self.part


@dataclass(frozen=True, slots=True)
class SearchedChapter:
    """A chapter that is searched, and its number among those that are."""

    session: Session
    names: Sequence[str]
    """The names of its cast."""
    number: int
    texts: SearchedTexts

    @property
    def id(self) -> SessionId:
        """The id of the chapter."""
        return self.session.id

    def hits(self, matches: Matcher, near: Mapping[str, float], is_given_up: GivenUp) -> list[Hit]:
        """Return what has the words, the newest first, and then what is near by its meaning, the best first.

        `near` are the cosines of pieces by their hashes.
        """
        found: list[Hit] = []
        for place in PLACES:
            by_words = list(islice(self._by_words(matches, place, is_given_up), MOST_HITS))
            known = {hit.where for hit in by_words}
            by_meaning = [hit for hit in self._by_meaning(near, place, is_given_up) if hit.where not in known]
            by_meaning.sort(key=lambda hit: -(hit.similarity or 0.0))
            found += [*by_words, *by_meaning]
        return found

    def _by_words(self, matches: Matcher, place: HitPlace, is_given_up: GivenUp) -> Iterator[Hit]:
        for one, letters in self.texts.of(place):
            if matches.may_match(letters) and (span := matches(one.text)) is not None:
                yield self._hit(one, span)
            if is_given_up():
                return

    def _by_meaning(self, near: Mapping[str, float], place: HitPlace, is_given_up: GivenUp) -> Iterator[Hit]:
        """Yield each text that has a piece which is near, at the nearest of them."""
        if not near or is_given_up():
            return
        pieces = self.texts.pieces(place, near)
        for one, places in pieces:
            similarity, span = max(((near[key], span) for key, span in places), key=lambda pair: pair[0])
            yield self._hit(one, span, similarity)

    def of_proofs(self, items: Sequence[Found], known: Sequence[Hit]) -> Iterator[Hit]:
        """Yield the events that prove items which were found by their meaning, the best first, each once."""
        there = {hit.where for hit in known}
        for one in items:
            for proof in one.item.evidence if one.similarity is not None else ():
                event = self.texts.played.get(proof.place)
                if event is None:
                    continue
                hit = self._hit(event, (proof.start, proof.end), one.similarity)
                if hit.where not in there:
                    there.add(hit.where)
                    yield hit

    def _hit(self, one: Text, span: Span, similarity: float | None = None) -> Hit:
        return Hit(
            session_id=self.id,
            chapter=self.number,
            place=one.place,
            prompt=one.prompt,
            told=one.told,
            source=one.source,
            part=one.part,
            who=one.who,
            excerpt=excerpt_of(one.text, span[0]),
            text=one.text,
            start=span[0],
            end=span[1],
            similarity=similarity,
            has_words=similarity is None,
        )


def hit_of_item(one: Found, number: int) -> Hit:
    """Return the hit of an item of the bank of a chapter with this number."""
    item = one.item
    return Hit(
        session_id=item.session_id,
        chapter=number,
        place=HitPlace.BANK,
        prompt=item.proved_at,
        source=str(item.id),
        who=clean_line(item.name),
        excerpt=excerpt_of(item.text, 0),
        text=item.text,
        end=len(item.text),
        similarity=one.similarity,
        has_words=bool(one.words) or one.similarity is None,
    )


def excerpt_of(text: str, start: int, before_it: int = _BEFORE) -> str:
    """Return the words around a place, on one line, of those before it so many characters."""
    before = without_begun_word(tail(text[:start], before_it), text[:start])
    after = head(text[start:], _AFTER)
    ends = ("…" if len(before) < start else "", "…" if len(after) < len(text) - start else "")
    return f"{ends[0]}{clean_line(before + after)}{ends[1]}"
