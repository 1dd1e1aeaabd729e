"""A memory bank in memory that keeps what `BankStore` promises."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import hypot, log
from uuid import UUID

from core.context.bank import BankChapter
from core.domain.bank.details import NAMED, ItemKind, texts_of
from core.domain.bank.item import Item, ItemAccess, Replacement, Validation, has_expired
from core.domain.bank.matching import SAME_BY_MEANING
from core.domain.bank.pieces import NearPiece, PieceVector
from core.domain.bank.recall import (
    MOST_WITH_A_WORD,
    Candidate,
    Found,
    ItemVector,
    Query,
    Scope,
    Vector,
    merged,
    signs_of,
    words_of,
)
from core.domain.errors import ChangedElsewhereError
from core.domain.ids import ItemId, SessionId
from core.domain.requests.request import BackgroundRequest, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.cast import Cast
from core.domain.story.context_status import never_of
from core.engine.recall.words import Matcher, letters_of
from core.storage.bank_store import EarlierChapter, FindWords, ItemsForInput, Names, Sheets
from core.storage.library_store import LibraryStore
from tests.store.in_memory.memory_rows import Rows


class MemoryBank:
    """The items of the sessions of one database."""

    def __init__(
        self,
        sessions: Mapping[SessionId, Rows],
        library: LibraryStore,
        notify: Callable[[SessionId], object] = lambda _: None,
    ) -> None:
        self._notify = notify
        self._sessions = sessions
        self.vectors: dict[tuple[SessionId, ItemId], tuple[str, ItemVector]] = {}
        self.keeps_vectors = True
        self.pieces: dict[tuple[SessionId, str], tuple[str, Vector]] = {}
        self._library = library

    async def items(
        self,
        session_id: SessionId,
        *,
        with_all: bool = False,
        of_canon: bool = False,
        kinds: Collection[ItemKind] | None = None,
    ) -> Sequence[Item]:
        rows = self._sessions.get(session_id)
        if rows is None:
            return []
        newest = [versions[-1] for versions in rows.items.values()]
        played = [item for item in newest if of_canon and _is_of_canon(rows, item)]
        found = newest if with_all else played if of_canon else list(counting(rows, newest))
        kept = (item for item in found if kinds is None or item.kind in kinds)
        return sorted(kept, key=lambda item: (item.prompt_index, item.id))

    async def having(
        self, session_id: SessionId, words: Sequence[str], *, most: int, skipped: int = 0
    ) -> Sequence[Item]:
        newest, looks = reversed(await self.items(session_id)), Matcher(words).may_match
        found = [one for one in newest if looks(letters_of(" ".join(_texts_in(one))))]
        return found[skipped : skipped + most]

    async def counting(self, session_id: SessionId) -> Collection[ItemId]:
        return {item.id for item in await self.items(session_id)}

    async def taken_out(self, session_id: SessionId) -> Sequence[Item]:
        found = await self.items(session_id, with_all=True)
        return [item for item in found if _is_taken_out(self._sessions[session_id], item)]

    async def earlier_chapters(self, session_id: SessionId) -> tuple[EarlierChapter, ...]:
        versions, before, seen = self._versions(session_id), tuple[SessionId, ...](), set[UUID]()
        at: SessionId | None = session_id
        while at is not None and at in self._sessions:
            book = await self._library.book_of(at)
            if (is_in := at if book is None else book.id) in seen:
                break
            seen.add(is_in)
            if book is not None:
                before = (*book.chapters[: book.number_of(at) - 1], *before)
            at = self._origin(at if book is None else book.chapters[0])
        numbered = enumerate(before, start=1)
        return tuple(_earlier(self._sessions[one], number) for number, one in numbered if one not in versions)

    def _origin(self, session_id: SessionId) -> SessionId | None:
        rows = self._sessions.get(session_id)
        return None if rows is None else rows.session.branched_from

    def _versions(self, session_id: SessionId) -> Collection[SessionId]:
        origin = self._origin(session_id)
        return () if origin is None else (origin, *self._versions(origin))

    async def replacements(
        self, session_ids: Sequence[SessionId], item_ids: Collection[ItemId] | None = None
    ) -> Sequence[Replacement]:
        chapters = {one: self._sessions[one] for one in session_ids if one in self._sessions}
        return [
            Replacement(item_id=old.id, session_id=older, replaced_in=later, label=new[-1].label)
            for later, rows in chapters.items()
            for new in rows.items.values()
            if _replaces(rows, new[-1])
            for older, others in chapters.items()
            for old in (versions[-1] for versions in others.items.values())
            if older != later and old.id == new[-1].supersedes and (item_ids is None or old.id in item_ids)
            if (new[-1].is_by_gm or not old.is_by_gm)
        ]

    async def readings(self, session_id: SessionId) -> Sequence[BackgroundRequest]:
        rows = self._sessions.get(session_id)
        requests = sorted(rows.requests.values(), key=lambda one: one.id) if rows else []
        return [
            one
            for one in requests
            if isinstance(one, BackgroundRequest)
            and (one.kind, one.state) == (RequestKind.EXTRACTION, RequestState.DONE)
        ]

    async def history(
        self, session_id: SessionId, item_ids: Collection[ItemId] | None = None
    ) -> Sequence[Item]:
        rows = self._sessions.get(session_id)
        items = {} if rows is None else rows.items
        return [
            version
            for item_id in sorted(items)
            if item_ids is None or item_id in item_ids
            for version in items[item_id]
        ]

    async def versions(
        self, session_id: SessionId, keys: Sequence[tuple[ItemId, int]]
    ) -> Mapping[tuple[ItemId, int], Item]:
        rows = self._sessions.get(session_id)
        items = {} if rows is None else rows.items
        return {
            (item_id, number): items[item_id][number - 1]
            for item_id, number in keys
            if number <= len(items.get(item_id, ()))
        }

    async def accesses(self, session_id: SessionId) -> Mapping[ItemId, ItemAccess]:
        rows = self._sessions.get(session_id)
        return {} if rows is None else dict(rows.accesses)

    async def put(self, items: Sequence[Item]) -> None:
        for item in items:
            versions = self._sessions[item.session_id].items.get(item.id, [])
            if item.version != len(versions) + 1:
                raise ChangedElsewhereError()
        for item in items:
            self._sessions[item.session_id].items.setdefault(item.id, []).append(item)
        for session_id in {item.session_id for item in items}:
            self._notify(session_id)

    async def recall(self, query: Query) -> Sequence[Found]:
        has = {
            scope.session_id: {item.id: _words_in(item) for item in await self.items(scope.session_id)}
            for scope in query.scopes
        }
        counts = Counter(word for items in has.values() for words in items.values() for word in words)
        candidates = []
        accesses = await self.accesses(query.session_id)
        for scope in query.scopes:
            for item in await self.items(scope.session_id):
                if not _is_asked(item, scope):
                    continue
                words = [
                    one
                    for one in query.words
                    if one.word in has[scope.session_id][item.id] and counts[one.word] <= MOST_WITH_A_WORD
                ]
                score = sum(one.weight * log(1 + query.size / (counts[one.word] + 0.5)) for one in words)
                similarity = self._similarity(item, query)
                candidates.append(
                    Candidate(
                        item=item,
                        score=score if words else None,
                        words=tuple(sorted(one.word for one in words)),
                        similarity=similarity,
                        nearness=self._nearness(item, similarity, query),
                        access=accesses.get(item.id),
                    )
                )
        return merged(candidates, query)

    async def items_for_input(
        self, sheets: Sheets, query: Query | None, find_words: FindWords | None = None
    ) -> ItemsForInput:
        if query is not None and find_words is not None:
            query = replace(query, words=await find_words())
        states = [
            item
            for session_id, slot in sheets
            for item in await self.items(session_id, kinds={ItemKind.STATE})
            if item.about is slot
        ]
        if query is None:
            return ItemsForInput(states)
        found = await self.recall(query)
        earlier = await self.earlier_chapters(query.session_id) if query.is_for_input else ()
        return ItemsForInput(states, found, earlier)

    async def has_items(self, session_ids: Collection[SessionId]) -> bool:
        return any([await self.items(one, with_all=True) for one in session_ids])

    async def names(self, scopes: Sequence[Scope], words: Sequence[str]) -> Names:
        known, named = set[str](), set[str]()
        for scope in scopes:
            counting = {item.id for item in await self.items(scope.session_id, kinds=NAMED)}
            for item in await self.items(scope.session_id, with_all=True):
                if item.label.mask & scope.mask == scope.mask:
                    known |= _words_in(item)
                    named |= {item.name} if item.id in counting else set()
        unknown = [word for word in words if word not in known]
        return Names(tuple(unknown), tuple(sorted(named)) if unknown else ()) if scopes else Names()

    async def all_names(self, session_ids: Collection[SessionId]) -> Collection[str]:
        return {item.name for one in session_ids for item in await self.items(one, kinds=NAMED)}

    def _similarity(self, item: Item, query: Query) -> float | None:
        model, kept = self.vectors.get((item.session_id, item.id), ("", None))
        if kept is None or query.vector is None or model != query.model or not self.keeps_vectors:
            return None
        return _cosine(kept.vector, query.vector)

    def _nearness(self, item: Item, similarity: float | None, query: Query) -> float | None:
        if similarity is None:
            return None
        _, kept = self.vectors[item.session_id, item.id]
        return _nearness_of(similarity, kept.name_parts, query.spans)

    async def can_recall_by_meaning(self) -> bool:
        return self.keeps_vectors

    async def unembedded(self, session_ids: Collection[SessionId], model: str, limit: int) -> Sequence[Item]:
        if not self.keeps_vectors:
            return ()
        out = {item.id for one in session_ids for item in await self.taken_out(one)}
        found = [item for one in session_ids for item in await self.items(one, with_all=True)]
        found = [item for item in found if self._chapter(item.session_id).may_send(item)]
        found = [item for item in found if item.id not in out and not self._is_embedded(item, model)]
        found.sort(key=lambda item: (item.session_id, item.prompt_index, item.id), reverse=True)
        return found[:limit]

    def _chapter(self, session_id: SessionId) -> BankChapter:
        never_sent = never_of(self._sessions[session_id].statuses)
        return BankChapter(session_id=session_id, slots={}, never_sent=never_sent)

    def _is_embedded(self, item: Item, model: str) -> bool:
        kept_by, kept = self.vectors.get((item.session_id, item.id), ("", None))
        return kept is not None and kept_by == model and self._is_of_its_words(kept, item)

    def _is_of_its_words(self, kept: ItemVector, item: Item) -> bool:
        then = self._sessions[item.session_id].items[item.id][kept.version - 1]
        return (then.name, then.text) == (item.name, item.text)

    async def near_items(self, session_id: SessionId) -> Sequence[tuple[ItemId, ItemId]]:
        items = await self.items(session_id)
        there = [(one, self.vectors[session_id, one.id]) for one in items if self._is_paired(one)]
        return [
            (one.id, other.id)
            for one, (model, kept) in there
            for other, (by, others) in there
            if one.id < other.id and (model, one.kind) == (by, other.kind)
            if (one.label, one.about) == (other.label, other.about)
            if len(kept.vector) == len(others.vector)
            if _cosine(kept.vector, others.vector) >= SAME_BY_MEANING
        ]

    def _is_paired(self, item: Item) -> bool:
        model, _ = self.vectors.get((item.session_id, item.id), ("", None))
        return self.keeps_vectors and self._is_embedded(item, model)

    async def put_vectors(self, model: str, vectors: Sequence[ItemVector]) -> None:
        for one in vectors:
            if self.keeps_vectors and one.item_id in self._sessions[one.session_id].items:
                self.vectors[one.session_id, one.item_id] = (model, one)

    async def unembedded_pieces(
        self, session_id: SessionId, model: str, hashes: Collection[str]
    ) -> Collection[str]:
        if not self.keeps_vectors:
            return ()
        known = {one for (owner, one), (by, _) in self.pieces.items() if (owner, by) == (session_id, model)}
        return set(hashes) - known

    async def put_piece_vectors(
        self, session_id: SessionId, model: str, vectors: Sequence[PieceVector]
    ) -> None:
        if self.keeps_vectors and session_id in self._sessions:
            self.pieces |= {(session_id, one.hash): (model, one.vector) for one in vectors}

    async def near_pieces(
        self, session_ids: Collection[SessionId], model: str, vector: Vector, limit: int
    ) -> Sequence[NearPiece]:
        found = [
            NearPiece(owner, one, _cosine(kept, vector))
            for (owner, one), (by, kept) in self.pieces.items()
            if self.keeps_vectors and owner in session_ids and by == model
        ]
        found.sort(key=lambda piece: (-piece.similarity, piece.hash))
        return found[:limit]


def _cosine(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True)) / (hypot(*one) * hypot(*other))


def _texts_in(item: Item) -> Sequence[str]:
    return (item.name, item.text, *texts_of(item.details), *(one.words for one in item.evidence))


def _words_in(item: Item) -> frozenset[str]:
    """Return the words of an item, as they are written: no language is known here."""
    return frozenset(one.word for text in _texts_in(item) for one in words_of(text))


def _earlier(rows: Rows, number: int) -> EarlierChapter:
    session = rows.session
    cast = (replace(one, identity="") for one in map(Cast(session, rows.tab1).__getitem__, session.slots))
    return EarlierChapter(
        session_id=session.id,
        number=number,
        prompt_index=session.prompt_index,
        language=session.language,
        cast=tuple(cast),
        statuses=rows.statuses,
    )


def counting(rows: Rows, items: Sequence[Item]) -> Iterator[Item]:
    """Yield those that count: drawn from canon, not taken out, and not superseded by one that counts."""
    newer = [item for item in items if _replaces(rows, item)]
    superseded = {item.supersedes for item in newer}
    by_gm = {item.supersedes for item in newer if item.is_by_gm}
    return (
        item
        for item in items
        if _is_in(rows, item) and item.id not in (by_gm if item.is_by_gm else superseded)
    )


def _replaces(rows: Rows, item: Item) -> bool:
    """Whether an item, or the one in which it goes on, replaces what it supersedes."""
    goes_on = item if item.merged_into is None else rows.items[item.merged_into][-1]
    return _is_of_canon(rows, item) and goes_on.validation is not Validation.REJECTED


def _is_in(rows: Rows, item: Item) -> bool:
    return _is_of_canon(rows, item) and not _is_taken_out(rows, item)


def _is_taken_out(rows: Rows, item: Item) -> bool:
    kept = None if item.merged_into is None else rows.items[item.merged_into][-1]
    is_merged = kept is not None and _is_of_canon(rows, kept)
    return is_merged or item.validation is Validation.REJECTED


def _is_of_canon(rows: Rows, item: Item) -> bool:
    is_played = item.prompt_index <= rows.session.prompt_index
    return item.take is None or (is_played and rows.takes.get(item.prompt_index) == item.take)


def _is_asked(item: Item, scope: Scope) -> bool:
    """Whether an item that counts is one of those asked about."""
    begins = item.evidence[0].prompt_index if item.evidence else item.prompt_index
    is_told = scope.before is not None and begins > scope.before
    return (
        item.label.mask & scope.mask == scope.mask
        and not (is_told and item.take is not None and not item.is_by_gm)
        and not has_expired(item, scope.now)
    )


def _nearness_of(similarity: float, name_parts: Sequence[Vector] | None, spans: Sequence[str]) -> float:
    """Return how near an item is with the parts of its name, as the statement of recall computes it."""
    if not spans or name_parts is None:
        return 2 * similarity
    fits = [max(_agreement(signs_of(part), span) for span in spans) for part in name_parts]
    return similarity + sum(fits) / len(fits)


def _agreement(one: str, other: str) -> float:
    """Return 1 for the same signs, -1 for the opposite ones."""
    return 1 - 2 * sum(a != b for a, b in zip(one, other, strict=True)) / len(one)
