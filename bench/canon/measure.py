"""Asks a stored chapter for the facts planted in it, by each way of remembering."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from statistics import median
from time import perf_counter
from typing import Final

from bench.canon.story import DOES_NOT, KNOWS, Planted
from core.agents.context_builder import Context, ContextBuilder
from core.context.bank import NO_BANK
from core.domain.bank.item import Item
from core.domain.bank.recall import Query, QueryWord, signs_of
from core.domain.ids import SessionId
from core.domain.slot import Slot
from core.engine.kinds.bank.embedding import all_texts_of, meaning_of
from core.engine.recall.asking import Meaning, RecallRequest
from core.engine.recall.reading import BankReader
from core.gateway.embedding_service import stored_name
from core.providers.embedding.base import Embedder, texts_of_query
from core.storage.bank_store import BankStore, FindWords, ItemsForInput, Sheets
from core.storage.session_store import SessionStore
from core.storage.snapshot import Snapshot
from core.text.delimiters import SegmentName

BATCH: Final = 16
IN_TURNS: Final = 24
"""Questions about each of the chapters whose inputs are compared."""
TURNS: Final = 6
"""Number of times that each of these is asked."""
SECONDS: Final = 120.0
"""Time-out of one batch of vectors, in seconds."""


class Way(StrEnum):
    """Parts of memory that an input has."""

    RECENT = "recent context only"
    BLOCKS = "blocks of memory too"
    WORDS = "bank by words"
    MEANING = "bank by meaning"
    BOTH = "bank by both"


BANK_WAYS: Final = (Way.WORDS, Way.MEANING, Way.BOTH)


@dataclass
class Result:
    """Results of one way, for the questions of one distance or kind."""

    asked: int = 0
    found: int = 0
    kept_asked: int = 0
    kept_found: int = 0
    recalled: int = 0
    """Lines that were recalled."""
    right: int = 0
    """Those of them that answer the question."""
    changed_asked: int = 0
    """Questions about a fact that was told otherwise before."""
    outdated: int = 0
    """Those of them whose input recalls an older value."""
    leaks: int = 0
    over_budget: int = 0
    tokens: list[int] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    """Of one whole input, without the vector of its question."""
    recall_milliseconds: list[float] = field(default_factory=list)

    @property
    def recall(self) -> float:
        """The share of the questions whose input has the fact."""
        return self.found / self.asked if self.asked else 0.0

    @property
    def kept_recall(self) -> float:
        """The same for items that the GM pinned or confirmed."""
        return self.kept_found / self.kept_asked if self.kept_asked else 1.0

    @property
    def precision(self) -> float:
        """The share of the recalled lines that answer the question; an input recalls several."""
        return self.right / self.recalled if self.recalled else 0.0

    @property
    def stale(self) -> float:
        """The share of the questions about a changed fact whose input recalls an older value."""
        return self.outdated / self.changed_asked if self.changed_asked else 0.0

    def add(self, other: "Result") -> None:
        """Count another result in."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.tokens += other.tokens
        self.milliseconds += other.milliseconds
        self.recall_milliseconds += other.recall_milliseconds

    def as_json(self) -> dict[str, object]:
        """Return the figures as plain values."""
        return {
            "asked": self.asked,
            "recall": self.recall,
            "kept_recall": self.kept_recall,
            "precision": self.precision,
            "changed_asked": self.changed_asked,
            "stale": self.stale,
            "leaks": self.leaks,
            "over_budget": self.over_budget,
            "tokens": median(self.tokens) if self.tokens else None,
            "milliseconds": median(self.milliseconds) if self.milliseconds else None,
            "recall_milliseconds": median(self.recall_milliseconds) if self.recall_milliseconds else None,
        }


_COUNTS: Final = tuple(one.name for one in fields(Result) if one.type is int)

Results = dict[tuple[Way, int], Result]
"""By the way of remembering and the distance."""
Times = dict[str, list[float]]
"""The milliseconds of inputs, by the chapter."""


class MeaningAlone:
    """A bank that is asked by meaning alone: what it does otherwise is that of the store."""

    def __init__(self, bank: BankStore) -> None:
        self._bank = bank

    async def items_for_input(
        self, sheets: Sheets, query: Query | None, find_words: FindWords | None = None
    ) -> ItemsForInput:
        """Recall without the words of the query."""
        return await self._bank.items_for_input(sheets, query, None if query is None else _no_words)

    def __getattr__(self, name: str) -> object:
        return getattr(self._bank, name)


async def _no_words() -> tuple[QueryWord, ...]:
    return ()


async def embed_items(store: SessionStore, embedder: Embedder, items: Sequence[Item]) -> float:
    """Store the vector of each item; return the seconds that it took."""
    began = perf_counter()
    await store.bank.can_recall_by_meaning()
    for first in range(0, len(items), BATCH):
        batch = items[first : first + BATCH]
        texts = all_texts_of(batch)
        made = await embedder.embed(texts, SECONDS)
        by_text = dict(zip(texts, made.vectors, strict=True))
        vectors = [one for item in batch if (one := meaning_of(item, by_text)) is not None]
        await store.bank.put_vectors(stored_name(embedder), vectors)
    return perf_counter() - began


class Questioner:
    """Builds the inputs that answer questions about planted facts."""

    def __init__(self, store: SessionStore, builder: ContextBuilder, embedder: Embedder) -> None:
        self._builder = builder
        self._embedder = embedder
        self._readers = {way: BankReader(store.bank, longest_wait=SECONDS) for way in BANK_WAYS}
        alone = MeaningAlone(store.bank)
        reader = BankReader(alone, longest_wait=SECONDS)  # type: ignore[arg-type]  # it hands the rest on
        self._readers[Way.MEANING] = reader
        self._meanings: dict[str, Meaning] = {}
        self.embed_milliseconds: list[float] = []

    async def ask(
        self,
        snapshot: Snapshot,
        planted: Sequence[Planted],
        secrets: Sequence[str],
        ways: Sequence[Way] = tuple(Way),
    ) -> Results:
        """Ask for each fact once by each way; `secrets` must never reach who did not hear them."""
        results: Results = {}
        for one in planted:
            for way in ways:
                made, taken = await self._input(snapshot, KNOWS, one.fact.question, way)
                result = _judged(made, one, way)
                if way in BANK_WAYS:
                    result.milliseconds.append(taken[0])
                    result.recall_milliseconds.append(taken[1])
                    other, _ = await self._input(snapshot, DOES_NOT, one.fact.question, way)
                    result.leaks = sum(secret in _text(other) for secret in secrets)
                results.setdefault((way, one.distance), Result()).add(result)
        return results

    async def ask_in_turns(self, chapters: Mapping[str, tuple[Snapshot, Sequence[Planted]]]) -> Times:
        """Return the milliseconds of inputs by words and meaning, one of each chapter after the other.

        So all of them are measured while the machine is as busy. A window keeps what it read of the chapter
        that it plays: so few questions are asked, as items of all chapters are to have room, and all of them
        once before they count.
        """
        times: Times = {name: [] for name in chapters}
        for turn in range(TURNS + 1):
            for place in range(IN_TURNS):
                for name, (snapshot, planted) in chapters.items():
                    one = planted[place * len(planted) // IN_TURNS]
                    _, taken = await self._input(snapshot, KNOWS, one.fact.question, Way.BOTH)
                    times[name] += taken[:1] if turn else ()
        return times

    async def _input(
        self, snapshot: Snapshot, slot: Slot, question: str, way: Way
    ) -> tuple[Context, tuple[float, float]]:
        """Return an input, and the milliseconds that it and its recall took."""
        if way in (Way.WORDS, Way.BOTH, Way.MEANING):
            await self._meaning(question)
        began = perf_counter()
        bank = NO_BANK
        if way in BANK_WAYS:
            recent_from = self._builder.recent_from(snapshot.session)
            embed = None if way is Way.WORDS else self._meaning
            asked = RecallRequest(text=question, recent_from=recent_from, embed=embed)
            bank = await self._readers[way].read(snapshot, slot, asked)
        recalled = perf_counter()
        made = self._builder.character(snapshot.known_to(slot, bank), question)
        done = perf_counter()
        return made, ((done - began) * 1e3, (recalled - began) * 1e3)

    async def _meaning(self, text: str) -> Meaning:
        """Return the vector of a question; the same for all ways."""
        if text not in self._meanings:
            began = perf_counter()
            texts = texts_of_query(text)
            made = await self._embedder.embed(texts.every, SECONDS)
            self.embed_milliseconds.append((perf_counter() - began) * 1e3)
            numbers, *spans = texts.meaning(made.vectors)
            self._meanings[text] = Meaning(numbers, stored_name(self._embedder), tuple(map(signs_of, spans)))
        return self._meanings[text]


def together(results: Results, way: Way) -> Result:
    """Return the result of a way over all distances."""
    made = Result()
    for (one, _), result in results.items():
        if one is way:
            made.add(result)
    return made


def merged(each: Iterable[Results]) -> Results:
    """Return the results of several runs over all their questions."""
    made: Results = {}
    for results in each:
        for key, result in results.items():
            made.setdefault(key, Result()).add(result)
    return made


def _judged(made: Context, one: Planted, way: Way) -> Result:
    result = Result(asked=1, kept_asked=int(one.is_kept))
    recalled = _text(made, SegmentName.RECALLED)
    match way:
        case Way.RECENT:
            text = _text(made, SegmentName.RECENT_CONTEXT)
        case Way.BLOCKS:
            text = _text(made, SegmentName.RECENT_CONTEXT) + _text(made, SegmentName.STRUCTURED_MEMORY)
        case _:
            text = _text(made)
            result.recalled = max(0, recalled.count("\n- "))
            result.right = recalled.count(one.fact.said)
            result.changed_asked = int(bool(one.outdated))
            result.outdated = int(any(said in recalled for said in one.outdated))
    result.found = int(one.fact.said in text)
    result.kept_found = result.found * int(one.is_kept)
    result.over_budget = int(made.tokens > made.max_input_tokens)
    result.tokens.append(made.tokens)
    return result


def _text(made: Context, name: SegmentName | None = None) -> str:
    return "\n".join(segment.text for segment in made.segments if name in (None, segment.name))


async def opened(store: SessionStore, session_id: SessionId) -> Snapshot:
    """Return a chapter as the window that plays it has it, with its memory."""
    snapshot = await store.load(session_id)
    return replace(snapshot, blocks=tuple(await store.memory(session_id)), is_memory_known=True)
