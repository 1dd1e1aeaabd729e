"""Measures whether canon holds: `make canon ARGS="--seed N --prompts N --json FILE"`.

A made-up chapter has planted facts of six kinds, among thousands like them. Each is asked about 7, 70, 700
and 7,000 prompts later, in words that share none with it, by who may know it; and by one who did not hear
the secrets. Then the same is asked from the next chapter of the book.
"""

import argparse
import asyncio
import gc
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from bench.canon.facts import FactKind
from bench.canon.measure import BANK_WAYS, Questioner, Result, Results, Way, embed_items, opened
from bench.canon.plot import recall_plot
from bench.canon.story import Story, write_story
from bench.measure import WIDTH
from bench.synthetic_sessions import whole
from core.agents.context_builder import ContextBuilder
from core.config.files.paths import Paths
from core.config.models.assignments import choose_models
from core.config.sections import ProfileSettings
from core.domain.agent_role import AgentRole
from core.domain.clock import utc_now
from core.domain.ids import BookId, SessionId, new_uuid
from core.library.book import Book
from core.providers.embedding.local import LocalEmbedder
from db.embedded.server import EmbeddedServer
from db.store import PostgresStore, open_store

PROMPTS, ITEMS, QUESTIONS = 7_000, 5_000, 8
SHORT = 700
"""Prompts of the chapter that the long one is compared with."""
NEXT_PROMPTS = 21
"""Prompts of the next chapter of the book."""
LEAST_RECALL, LEAST_KEPT, MOST_MS, MOST_RECALL_MS, MOST_GROWN = 0.95, 0.99, 25.0, 10.0, 1.2


async def _story(store: PostgresStore, embedder: LocalEmbedder, story: Story) -> float:
    await store.create(story.changes)
    seconds = await embed_items(store, embedder, story)
    # A window that plays the chapter has it in the database alone: its objects are not to be searched for
    # garbage while inputs are made.
    gc.collect()
    gc.freeze()
    return seconds


async def _next_chapter(store: PostgresStore, first: SessionId) -> SessionId:
    """Store a chapter after another one in a book; return its id."""
    made = whole(NEXT_PROMPTS)
    assert made.session is not None
    await store.create(replace(made, session=replace(made.session, keeps_bank=True)))
    now, chapters = utc_now(), (first, made.session_id)
    book = Book(id=BookId(new_uuid()), title="Canon", chapters=chapters, created_at=now, updated_at=now)
    await store.library.put_book(book)
    return made.session_id


async def measure(seed: int, prompts: int, items: int, questions: int, home: Path) -> dict[str, object]:
    """Measure everything on a private server and with the bundled embedding model; return the figures."""
    server = EmbeddedServer(home / "postgres", grace=0.0)
    embedder = LocalEmbedder(Paths(*(home / name for name in ("data", "config", "logs", "out"))))
    store = await open_store(await asyncio.to_thread(server.acquire))
    large, small = (choose_models(ProfileSettings(provider=one)) for one in ("scripted", "local"))
    try:
        questioner = Questioner(store, ContextBuilder(large), embedder)
        long = write_story(seed, prompts, items, questions)
        _say(f"{prompts:,} prompts, {len(long.items):,} items, {len(long.planted)} questions …")
        seconds = await _story(store, embedder, long)
        secrets = [item.text for item in long.items if not item.label.is_everyone]
        results = await questioner.ask(await opened(store, long.changes.session_id), long.planted, secrets)
        _say("the same with the bundled model's window …")
        frugal = Questioner(store, ContextBuilder(small), embedder)
        asked = await opened(store, long.changes.session_id)
        in_small = await frugal.ask(asked, long.planted, secrets, (Way.BOTH,))
        following = await _next_chapter(store, long.changes.session_id)
        _say("the next chapter of the book …")
        in_book = await questioner.ask(await opened(store, following), long.planted, secrets)
        _say(f"a chapter of {SHORT} prompts …")
        short = write_story(seed + 1, min(SHORT, prompts), max(1, items * SHORT // prompts), questions)
        await _story(store, embedder, short)
        shorter = await questioner.ask(await opened(store, short.changes.session_id), short.planted, ())
    finally:
        await embedder.aclose()
        await store.aclose()
        await asyncio.to_thread(server.release)
    return {
        "seed": seed,
        "prompts": prompts,
        "items": len(long.items),
        "vectors_seconds": seconds,
        "question_vector_milliseconds": median(questioner.embed_milliseconds),
        "tokens": [one[AgentRole.CHARACTER].max_input_tokens for one in (large, small)],
        "results": results,
        "small": in_small,
        "book": in_book,
        "short": shorter,
        "kinds": [kind.value for kind in FactKind],
    }


def together(results: Results, way: Way) -> Result:
    """Return the result of a way over all distances."""
    made = Result()
    for (one, _), result in results.items():
        if one is way:
            made.add(result)
    return made


def print_figures(found: dict[str, object]) -> bool:
    """Print tables, plot and goals; return whether every goal is met."""
    console = Console() if Console().is_terminal else Console(width=WIDTH)
    for title, name in (("asked in the same chapter", "results"), ("asked in the next chapter", "book")):
        results: Results = found[name]  # type: ignore[assignment]  # as measured
        distances = sorted({distance for _, distance in results})
        columns = [*(f"{distance:,} later" for distance in distances)]
        more = ("all", "kept", "precision", "leaks", "tokens", "input ms", "recall ms")
        table = Table("recall", *columns, *more, title=f"Canon, seed {found['seed']}: {title}")
        for way in Way:
            each = [f"{results[way, distance].recall:.2f}" for distance in distances]
            every = together(results, way)
            times = (every.milliseconds, every.recall_milliseconds)
            shown = [f"{median(one):.1f}" if one else "" for one in times]
            precision = f"{every.precision:.2f}" if way in BANK_WAYS else ""
            leaks = f"{every.leaks}" if way in BANK_WAYS else ""
            table.add_row(
                way.value,
                *each,
                f"{every.recall:.2f}",
                f"{every.kept_recall:.2f}",
                precision,
                leaks,
                f"{median(every.tokens):,.0f}",
                *shown,
            )
        console.print(table)
        if name == "results":
            console.print(recall_plot(results))
    _print_small(console, found)
    return _print_goals(console, found)


def _print_small(console: Console, found: dict[str, object]) -> None:
    """Print what inputs have that may be as long as the window of the bundled model allows."""
    small: Results = found["small"]  # type: ignore[assignment]  # as measured
    budgets: list[int] = found["tokens"]  # type: ignore[assignment]  # as measured
    both = together(small, Way.BOTH)
    each = ", ".join(
        f"{small[Way.BOTH, distance].recall:.2f} {distance:,} later"
        for distance in sorted({distance for _, distance in small})
    )
    console.print(
        f"With inputs of {budgets[1]:,} tokens in place of {budgets[0]:,}, by both: {each}; "
        f"kept {both.kept_recall:.2f}, leaks {both.leaks}, over budget {both.over_budget}, "
        f"{median(both.tokens):,.0f} tokens."
    )


def _print_goals(console: Console, found: dict[str, object]) -> bool:
    results: Results = found["results"]  # type: ignore[assignment]  # as measured
    short: Results = found["short"]  # type: ignore[assignment]  # as measured
    both = together(results, Way.BOTH)
    farthest = results[Way.BOTH, max(distance for _, distance in results)]
    grown = median(both.milliseconds) / median(together(short, Way.BOTH).milliseconds)
    goals = [
        (f"recall by both, farthest ≥ {LEAST_RECALL}", farthest.recall, farthest.recall >= LEAST_RECALL),
        (f"pinned and confirmed ≥ {LEAST_KEPT}", both.kept_recall, both.kept_recall >= LEAST_KEPT),
        ("leaks 0", float(both.leaks), both.leaks == 0),
        ("inputs over budget 0", float(both.over_budget), both.over_budget == 0),
        (f"input ≤ {MOST_MS} ms", median(both.milliseconds), median(both.milliseconds) <= MOST_MS),
        (
            f"of it recall ≤ {MOST_RECALL_MS} ms",
            median(both.recall_milliseconds),
            median(both.recall_milliseconds) <= MOST_RECALL_MS,
        ),
        (f"input, long against short ≤ {MOST_GROWN} ×", grown, grown <= MOST_GROWN),
    ]
    table = Table("goal", "value", "", title="Goals")
    for what, value, is_met in goals:
        table.add_row(what, f"{value:,.2f}", "yes" if is_met else "NO")
    console.print(table)
    console.print(
        f"vectors of all items {found['vectors_seconds']:.0f} s, "
        f"of one question {found['question_vector_milliseconds']:.0f} ms (made while the GM reads on)"
    )
    return all(is_met for _, _, is_met in goals)


def _plain(value: object) -> object:
    if isinstance(value, Result):
        return value.as_json()
    if isinstance(value, dict):
        return {
            f"{key[0].value}, {key[1]}" if isinstance(key, tuple) else key: _plain(inner)
            for key, inner in value.items()
        }
    return value


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=20261125)
    parser.add_argument("--prompts", type=int, default=PROMPTS)
    parser.add_argument(
        "--items", type=int, help="items of the bank; five for every seven prompts unless said"
    )
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of each kind and distance")
    parser.add_argument("--json", type=Path, default=Path("bench/results/canon.json"))
    arguments = parser.parse_args()
    items = arguments.items or arguments.prompts * ITEMS // PROMPTS
    with tempfile.TemporaryDirectory(prefix="storyengine-canon-", ignore_cleanup_errors=True) as folder:
        made = measure(arguments.seed, arguments.prompts, items, arguments.questions, Path(folder))
        found = asyncio.run(made)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(_plain(found), indent=1) + "\n", "utf-8")
    print_figures(found)


if __name__ == "__main__":
    main()
