"""Times recall among 100,000 items: `python -m bench.store.recall [--quick] [--folder FOLDER]`.

A book of twenty chapters has 5,000 items in each. One chapter alone is asked about, three, and all together;
beside it stands a look at each of all vectors without any other condition, and how many of the nearest are
found by the index that so many vectors have; then what a list of the items of a chapter takes, and the GM's
search. Words are as frequent as in prose: a few are in most texts, most are in few. Vectors are near one of a
few hundred topics.
"""

import argparse
import asyncio
import gc
import random
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

import sqlalchemy as sa

from bench.measure import Figure, print_table
from bench.synthetic_sessions import told
from core.config.sections import DEFAULT_RECALL_ITEMS
from core.domain.bank.details import FactDetails, PersonDetails
from core.domain.bank.evidence import Evidence
from core.domain.bank.item import Item
from core.domain.bank.recall import (
    LEAST_SIMILARITY,
    MOST_SPANS,
    ItemVector,
    Query,
    Scope,
    Vector,
    query_words,
    signs_of,
)
from core.domain.clock import utc_now
from core.domain.ids import ItemId, SessionId, new_uuid
from core.engine.recall.search import search
from core.engine.recall.texts import KeptTexts
from db.bank.vectors import text_of
from db.embedded.server import EmbeddedServer
from db.store import PostgresStore, open_store

CHAPTERS = 20
ITEMS = 5_000
PROMPTS = 700
DIMENSIONS = 384
GOAL_MS = 10.0
_PERSON_EVERY = 10
"""The items of one prompt of so many are about a person."""
_SOME = 3
"""Chapters of a story that is a small part of all."""
_WARMING = 10
"""Questions behind which a server is warm, as often as there are runs."""
_TOPICS = 400
_VOCABULARY = 20_000
_SYLLABLES = [a + b for a in "bcdfghjklmnprstvwz" for b in ("a", "e", "i", "o", "u", "ar", "en", "il", "or")]


class Stories:
    """Makes texts and vectors from a seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._words = [
            "".join(self._chance.choice(_SYLLABLES) for _ in range(2 + number % 3))
            for number in range(_VOCABULARY)
        ]
        self._weights = [1 / (rank + 8) for rank in range(_VOCABULARY)]
        self._topics = [self._noise(1.0) for _ in range(_TOPICS)]

    def text(self, words: int) -> str:
        """Return prose."""
        return " ".join(self._chance.choices(self._words, self._weights, k=words))

    def vector(self) -> Vector:
        """Return a meaning near one of the topics."""
        topic = self._chance.choice(self._topics)
        return tuple(a + b for a, b in zip(topic, self._noise(0.8), strict=True))

    def _noise(self, size: float) -> Vector:
        return tuple(self._chance.gauss(0, size) for _ in range(DIMENSIONS))

    def item(self, session_id: SessionId, prompt_index: int) -> Item:
        """Return an item of a prompt."""
        words, now = self.text(10), utc_now()
        proof = Evidence(prompt_index=prompt_index, ordinal=1, words=words, start=0, end=len(words))
        return Item(
            id=ItemId(new_uuid()),
            session_id=session_id,
            name=self.text(3),
            text=self.text(14),
            details=PersonDetails() if prompt_index % _PERSON_EVERY == 0 else FactDetails(),
            prompt_index=prompt_index,
            evidence=(proof,),
            created_at=now,
            updated_at=now,
        )


async def fill(store: PostgresStore, stories: Stories, chapters: int, items: int) -> list[SessionId]:
    """Store the chapters with their items and vectors."""
    ids = []
    for _ in range(chapters):
        made = told(PROMPTS)
        assert made.session is not None
        session = replace(made.session, keeps_bank=True)
        found = tuple(stories.item(session.id, 1 + number * PROMPTS // items) for number in range(items))
        await store.chapters.create(replace(made, session=session, items=found))
        vectors = [
            ItemVector(
                session_id=one.session_id,
                item_id=one.id,
                version=1,
                vector=stories.vector(),
                name_parts=(stories.vector(), stories.vector()),
            )
            for one in found
        ]
        for first in range(0, items, 500):
            await store.bank.put_vectors("bench", vectors[first : first + 500])
        ids.append(session.id)
    return ids


def asked(stories: Stories, sessions: Sequence[SessionId], *, by_meaning: bool = True) -> Query:
    """Return what an input would ask of these chapters."""
    scopes = tuple(Scope(session_id=one, mask=1, now=PROMPTS + 1) for one in sessions)
    return Query(
        session_id=sessions[0],
        scopes=scopes,
        words=query_words([(stories.text(30), 1.0), (stories.text(200), 0.5)]),
        vector=stories.vector() if by_meaning else None,
        model="bench",
        spans=tuple(signs_of(stories.vector()) for _ in range(MOST_SPANS)) if by_meaning else (),
        limit=DEFAULT_RECALL_ITEMS,
        is_for_input=True,
    )


async def measure(chapters: int, items: int, runs: int, folder: Path) -> list[Figure]:
    """Measure recall in one chapter and in all of them, of the stories in `folder` if it has some."""
    server = EmbeddedServer(folder, grace=0.0)
    try:
        url = await asyncio.to_thread(server.acquire)
        store = await open_store(url)
        try:
            # A list is read by another store, which has none of the items yet.
            figures = await _measured(store, chapters, items, runs)
            sessions = await _stored(store)
            figures += await _listed(url, sessions[0], items)
            return [
                *figures,
                *await _searched(url, sessions[:1], items),
                *await _searched(url, sessions, items),
            ]
        finally:
            await store.aclose()
    finally:
        await asyncio.to_thread(server.release)


async def _measured(store: PostgresStore, chapters: int, items: int, runs: int) -> list[Figure]:
    stories = Stories(7)
    began = perf_counter()
    sessions, filled = await _stored(store), list[Figure]()
    if not sessions:
        sessions = await fill(store, stories, chapters, items)
        taken = (perf_counter() - began) / (chapters * items) * 1e3
        filled.append(Figure("storing one of the items with its words and its vector", taken, "ms"))
    count = chapters * items
    # As the app freezes what its start made: it is not to be searched for garbage while recall is measured.
    gc.collect()
    gc.freeze()

    async def recalled(of: Sequence[SessionId], *, by_meaning: bool = True) -> tuple[float, float]:
        """Return what a question takes, and what it takes when it is asked again: its items are kept then."""
        queries = [asked(stories, of, by_meaning=by_meaning) for _ in range(runs + 3)]
        works = [partial(store.bank.recall, one) for one in queries]
        taken = [(await _milliseconds(work), await _milliseconds(work)) for work in works]
        return median(first for first, _ in taken[3:]), median(again for _, again in taken[3:])

    (one, one_again), (every, every_again) = await recalled(sessions[:1]), await recalled(sessions)
    some, _ = await recalled(sessions[:_SOME])
    words, _ = await recalled(sessions, by_meaning=False)
    warm = await _when_warm(store, stories, sessions, runs)
    scopes = asked(stories, sessions).scopes
    known = await _median([partial(store.bank.names, scopes, [stories.text(1)]) for _ in range(runs + 3)])
    unknown = await _median([partial(store.bank.names, scopes, ["zzyzx"]) for _ in range(runs + 3)])
    meanings = [replace(asked(stories, sessions), words=(), spans=()) for _ in range(runs + 3)]
    scan = await _median([partial(_nearest, store, one) for one in meanings])
    found = [await _share_found(store, one) for one in meanings]
    of_chapter, of_book = f"{items:,} items, {count:,} stored", f"book of {count:,} items"
    return [
        *filled,
        Figure.at_most(f"recall in a chapter of {of_chapter}", one, "ms", one / GOAL_MS, 1, "10 ms"),
        Figure.at_most(f"recall in a {of_book}", every, "ms", every / GOAL_MS, 1, "10 ms"),
        Figure(f"the same, behind {_WARMING * runs} questions and with no item kept", warm, "ms"),
        Figure(f"recall in a book of {_SOME * items:,} of these items", some, "ms"),
        Figure("the same questions asked again in the chapter", one_again, "ms"),
        Figure("and in the whole book", every_again, "ms"),
        Figure(f"recall in a {of_book}, by words alone", words, "ms"),
        Figure(f"whether a {of_book} has a word of a prompt", known, "ms"),
        Figure("and the names in it, as it has not", unknown, "ms"),
        Figure("a look at each of its vectors, without other conditions", scan, "ms"),
        Figure("of the nearest that this finds, recall finds", 100 * sum(found) / len(found), "%"),
    ]


async def _when_warm(
    store: PostgresStore, stories: Stories, sessions: Sequence[SessionId], runs: int
) -> float:
    """Return the milliseconds of recall on a server that has read its pages; the program keeps no item.

    A server that has just been started reads each page that is asked for first.
    """
    taken: list[float] = []
    for _ in range((_WARMING + 1) * runs):
        store.bank._items._kept.clear()
        taken.append(await _milliseconds(partial(store.bank.recall, asked(stories, sessions))))
    return median(taken[_WARMING * runs :])


async def _stored(store: PostgresStore) -> list[SessionId]:
    """Return the chapters that an earlier run has stored."""
    async with store._database.pool.connect() as connection:
        rows = await connection.execute(sa.text("SELECT DISTINCT session_id FROM bank_item ORDER BY 1"))
        return [SessionId(row.session_id) for row in rows]


async def _listed(url: str, session_id: SessionId, count: int) -> list[Figure]:
    """Measure the first list of all items of a chapter, another one, and a change with a third."""
    store = await open_store(url)
    try:
        items = list[Item]()

        async def listed() -> None:
            items[:] = await store.bank.items(session_id, with_all=True)

        async def pinned() -> None:
            changed = items[0].next_version(utc_now())
            await store.bank.put([replace(changed, is_pinned=not changed.is_pinned)])
            await listed()

        first = await _milliseconds(listed)
        again, changed = await _median([listed] * 13), await _median([pinned] * 13)
        return [
            Figure(f"reading the {count:,} items of a chapter for a list", first, "ms"),
            Figure("reading them again", again, "ms", again / first),
            Figure("pinning one of them, and reading them again", changed, "ms", changed / first),
        ]
    finally:
        await store.aclose()


async def _searched(url: str, sessions: Sequence[SessionId], items: int) -> list[Figure]:
    """Measure the GM's first search in chapters by words, and the next ones."""
    stories, store = Stories(7), await open_store(url)
    texts = KeptTexts(store)
    try:

        async def searched(text: str) -> None:
            await search(store, sessions, text, None, texts)

        first = await _milliseconds(partial(searched, stories.text(1)))
        rare = await _median([partial(searched, stories.text(2)) for _ in range(9)])
        letters = await _median([partial(searched, stories.text(1)[:2]) for _ in range(9)])
        where = f"{len(sessions) * items:,} items, {len(sessions) * PROMPTS:,} prompts"
        return [
            Figure(f"the first search by words in {where}", first, "ms"),
            Figure("another one, of two words", rare, "ms", rare / first),
            Figure("another one, of two letters", letters, "ms", letters / first),
        ]
    finally:
        texts.close()
        await store.aclose()


async def _nearest(store: PostgresStore, query: Query) -> set[object]:
    """Return the items whose vectors are nearest, and near enough, by a look at each of them."""
    # No index has the vectors as they are stored: it is of those of one length.
    statement = sa.text(
        "SELECT item_id, embedding <=> CAST(:vector AS halfvec) AS distance FROM bank_vector"
        " ORDER BY distance LIMIT :count"
    )
    values = {"vector": text_of(query.vector or ()), "count": query.limit}
    async with store._database.pool.connect() as connection:
        rows = list(await connection.execute(statement, values))
    return {row.item_id for row in rows if row.distance <= 1 - LEAST_SIMILARITY}


async def _share_found(store: PostgresStore, query: Query) -> float:
    nearest = await _nearest(store, query)
    return len(nearest & {one.item.id for one in await store.bank.recall(query)}) / len(nearest)


async def _median(works: Sequence[Callable[[], Awaitable[object]]]) -> float:
    """Return the median milliseconds, without those of the first three."""
    taken = [await _milliseconds(work) for work in works]
    return median(taken[3:])


async def _milliseconds(work: Callable[[], Awaitable[object]]) -> float:
    began = perf_counter()
    await work()
    return (perf_counter() - began) * 1e3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the items")
    parser.add_argument("--folder", type=Path, help="keeps the stories, for another run with as many items")
    arguments = parser.parse_args()
    items, runs = (ITEMS // 10, 10) if arguments.quick else (ITEMS, 30)
    with tempfile.TemporaryDirectory(prefix="storyengine-bench-", ignore_cleanup_errors=True) as folder:
        kept = arguments.folder or Path(folder) / "postgres"
        figures = asyncio.run(measure(CHAPTERS, items, runs, kept))
    print_table("Recall", figures)


if __name__ == "__main__":
    main()
