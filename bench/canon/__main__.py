"""Measures whether canon holds: `make canon ARGS="--seed N --prompts N --json FILE"`.

A made-up chapter has planted facts of six kinds, among thousands like them. Each is asked about 7, 70, 700
and 7,000 prompts later, in words that share none with it, by who may know it; and by one who did not hear
the secrets. Then the same is asked from the next chapter of the book. Several seeds are one chapter each,
and the goals are about all their questions together. The exit code is 1 where a goal is missed.
"""

import argparse
import asyncio
import gc
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from bench.canon.measure import Questioner, Times, Way, embed_items, opened
from bench.canon.report import DENSE, LONG, SHORT, SPARSE, Figures, print_figures, print_goals
from bench.canon.story import MOST_IN_A_PROMPT, Planted, Story, write_next, write_story
from core.agents.context_builder import ContextBuilder
from core.config.files.paths import Paths
from core.config.models.assignments import choose_models
from core.config.sections import ProfileSettings
from core.domain.agent_role import AgentRole
from core.domain.clock import utc_now
from core.domain.ids import BookId, new_uuid
from core.library.book import Book
from core.providers.embedding.local import LocalEmbedder
from core.storage.snapshot import Snapshot
from db.embedded.server import EmbeddedServer
from db.store import PostgresStore, open_store

SEEDS = (20261125, 7, 99, 11, 12, 13)
"""Seeds of a whole run: one has 48 questions for a distance, too few to tell 0.95 from 0.92."""
PROMPTS, ITEMS, QUESTIONS = 7_000, 5_000, 8
FEW = 700
"""Prompts of the shorter chapters that the long one is compared with."""


async def _store(store: PostgresStore, embedder: LocalEmbedder, story: Story) -> float:
    await store.chapters.create(story.changes)
    return await embed_items(store, embedder, story.items)


async def _opened(store: PostgresStore, story: Story) -> tuple[Snapshot, Sequence[Planted]]:
    """Return a chapter as a window has it that plays it, and what is asked about.

    Such a window looks for garbage among new objects alone (`storyengine_tui.shell.garbage`), and has the
    story in the database: neither the chapter nor the story that was written is looked through.
    """
    snapshot = await opened(store, story.changes.session_id)
    gc.collect()
    gc.freeze()
    return snapshot, story.planted


async def _store_next(store: PostgresStore, embedder: LocalEmbedder, first: Story, following: Story) -> None:
    """Store a chapter after another one in a book."""
    await _store(store, embedder, following)
    chapters = (first.changes.session_id, following.changes.session_id)
    now = utc_now()
    book = Book(id=BookId(new_uuid()), title="Canon", chapters=chapters, created_at=now, updated_at=now)
    await store.library.put_book(book)


def _smaller(prompts: int, items: int) -> Iterator[tuple[str, int, int]]:
    """Yield the chapters that the long one is compared with, with their numbers of prompts and items."""
    few = min(FEW, prompts)
    few_items = max(1, items * few // prompts)
    yield from ((SHORT, few, few_items), (SPARSE, prompts, few_items), (DENSE, few, items))


async def measure(
    seed: int, prompts: int, items: int, questions: int, home: Path, *, compares: bool
) -> Figures:
    """Measure a seed on a private server and with the bundled embedding model; return the figures.

    With `compares` the time of an input is compared with that in smaller chapters too, which takes as long
    as the rest.
    """
    server = EmbeddedServer(home / "postgres", grace=0.0)
    embedder = LocalEmbedder(Paths(*(home / name for name in ("data", "config", "logs", "out"))))
    store = await open_store(await asyncio.to_thread(server.acquire))
    large, small = (choose_models(ProfileSettings(provider=one)) for one in ("scripted", "local"))
    try:
        questioner = Questioner(store, ContextBuilder(large), embedder)
        long = write_story(seed, prompts, items, questions)
        _say(f"{prompts:,} prompts, {len(long.items):,} items, {len(long.planted)} questions …")
        seconds = await _store(store, embedder, long)
        secrets = [item.text for item in long.items if not item.label.is_everyone]
        results = await questioner.ask(*await _opened(store, long), secrets)
        _say("the same with the bundled model's window …")
        frugal = Questioner(store, ContextBuilder(small), embedder)
        in_small = await frugal.ask(*await _opened(store, long), secrets, (Way.BOTH,))
        following = write_next(long)
        await _store_next(store, embedder, long, following)
        secrets += [item.text for item in following.items if not item.label.is_everyone]
        _say("the next chapter of the book …")
        in_book = await questioner.ask(*await _opened(store, following), secrets)
        in_turns: Times = {}
        if compares:
            _say("chapters with fewer prompts, with fewer items, and with fewer of both …")
            chapters = {LONG: long}
            for number, (name, length, size) in enumerate(_smaller(prompts, items), start=1):
                most = max(MOST_IN_A_PROMPT, 2 * size // length)
                chapters[name] = write_story(seed + number, length, size, questions, most)
                await _store(store, embedder, chapters[name])
            in_turns = await questioner.ask_in_turns(
                {name: await _opened(store, story) for name, story in chapters.items()}
            )
    finally:
        await embedder.aclose()
        await store.aclose()
        await asyncio.to_thread(server.release)
    return Figures(
        seeds=(seed,),
        prompts=prompts,
        items=len(long.items),
        vectors_seconds=seconds,
        question_vector_milliseconds=median(questioner.embed_milliseconds),
        tokens=(large[AgentRole.CHARACTER].max_input_tokens, small[AgentRole.CHARACTER].max_input_tokens),
        results=results,
        small=in_small,
        book=in_book,
        in_turns=in_turns,
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 where a goal is missed, and else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seed", type=int, nargs="+", default=SEEDS, help="one run for each; six unless said"
    )
    parser.add_argument("--prompts", type=int, default=PROMPTS)
    parser.add_argument(
        "--items", type=int, help="items of the bank; five for every seven prompts unless said"
    )
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of each kind and distance")
    parser.add_argument("--json", type=Path, default=Path("bench/results/canon.json"))
    given = parser.parse_args(arguments)
    items = given.items or given.prompts * ITEMS // PROMPTS
    found: list[Figures] = []
    for seed in given.seed:
        with tempfile.TemporaryDirectory(prefix="storyengine-canon-", ignore_cleanup_errors=True) as folder:
            made = measure(
                seed, given.prompts, items, given.questions, Path(folder), compares=seed == given.seed[0]
            )
            found.append(asyncio.run(made))
        print_figures(found[-1])
    total = Figures.of_all(found)
    if len(found) > 1:
        print_figures(total)
    plain = {"seeds": [one.as_json() for one in found], "total": total.as_json()}
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(plain, indent=1) + "\n", "utf-8")
    return 0 if print_goals(total) else 1


if __name__ == "__main__":
    # As the app, which looks through old objects in pauses alone.
    gc.set_threshold(*gc.get_threshold()[:2], 2**31 - 1)
    sys.exit(main())
