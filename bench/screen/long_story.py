"""Measures the screen on a long story: how long each thing takes, and the longest step of the loop within it.

    python -m bench.screen.long_story [--prompts 6000] [--items 5000] [--chapters 300] [--only WORD] [--where]
        [--folder FOLDER]

The whole program runs in this process without a terminal, on the private server. While a step of the loop
runs no key is read: of each thing that the GM does the steps over 10 ms are noted. `--where` also says in
which calls the longest of them was. The ratios are against a key in the composer in the same run.
"""

import argparse
import asyncio
import gc
import multiprocessing
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from textual import events
from textual.pilot import Pilot
from textual.widgets import DataTable, TextArea

from bench.measure import Figure, print_table
from bench.steps import Steps
from bench.store.recall import Stories
from bench.synthetic_sessions import sentences, told, whole
from core.config.files.paths import Paths
from core.config.sections import EmbeddingSettings
from core.config.settings import Settings
from core.domain.ids import SessionId
from db.embedded.server import EmbeddedServer
from db.store import open_store
from storyengine_tui.bootstrap import Configuration, running_engine
from storyengine_tui.screens.chapter.last_session import LastPanel, write_last_session
from storyengine_tui.shell.app import StoryEngineApp

PATIENCE = 60.0
SCRIPT = f"""[[reply]]
match = {{ schema = "text" }}
text = "{sentences(600, 1)}"
between_tokens = 0.01
"""
LONG_STEP = 0.03
"""Seconds of a step that a typist may notice."""
KEYS = 40
WHEN = ("first", "second")


@dataclass
class Visit:
    """The program on a long story, and what was measured of it."""

    pilot: Pilot[Any]
    app: StoryEngineApp
    where: bool
    figures: list[Figure] = field(default_factory=list)
    key: float = 0.0

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until `holds`; raise TimeoutError when it does not come."""
        deadline = time.monotonic() + PATIENCE
        while not holds():
            if self.app._exception is not None:
                raise self.app._exception
            if time.monotonic() > deadline:
                raise TimeoutError("the screen did not show it")
            await asyncio.sleep(0.002)

    async def measure(
        self, name: str, do: Callable[[], Awaitable[object]], holds: Callable[[], object]
    ) -> None:
        """Do something until it shows, and note the time and the longest step."""
        steps = Steps(looks=self.where)
        began = time.perf_counter()
        with steps.watched():
            await do()
            await self.until(holds)
            taken = time.perf_counter() - began
            await self.quiet()
        self.note(name, taken, steps)

    def note(self, name: str, taken: float, steps: Steps) -> None:
        """Note a time and the longest step within it."""
        worst = steps.longest()
        ratio = taken / self.key if self.key else None
        self.figures += [
            Figure(name, taken * 1000, "ms", ratio),
            Figure("  longest step", worst.seconds * 1000, "ms", None, "≤ 30", worst.seconds <= LONG_STEP),
        ]
        many = ", ".join(f"{step.seconds * 1000:.0f}" for step in steps.noted if step.seconds > LONG_STEP)
        print(f"{name}: {taken * 1000:.0f} ms; steps over 30 ms: {many or 'none'}; {worst.what}", flush=True)
        if self.where and worst.seconds > LONG_STEP:
            for call, count in Counter(worst.where).most_common(6):
                print(f"    {count} × {call}")

    async def press(self, key: str) -> None:
        """Press a key, as the terminal would."""
        names = {"space": " "}
        character = key if len(key) == 1 else names.get(key)
        event = events.Key(key, character)
        event.set_sender(self.app)
        self.app._driver.send_message(event)  # type: ignore[union-attr]  # a running app has one
        await asyncio.sleep(0)

    async def type(self, words: str) -> None:
        """Press the keys of words as a fast typist."""
        for letter in words:
            await self.press("space" if letter == " " else letter)
            await asyncio.sleep(0.03)

    async def back(self) -> None:
        """Close what is over the chapter."""
        if self.app.screen is not self.app.chapter:
            await self.press("escape")
            await self.until(lambda: self.app.screen is self.app.chapter)
            await self.quiet()

    async def keys(self, when: str) -> None:
        """Type into the composer, and note the median time of a key."""
        steps, taken = Steps(looks=self.where), []
        with steps.watched():
            for _ in range(KEYS):
                area = self.app.focused
                assert isinstance(area, TextArea)
                length = len(area.text) + 1
                began = time.perf_counter()
                await self.press("e")
                await self.until(partial(_has_length, area, length))
                taken.append(time.perf_counter() - began)
                await asyncio.sleep(0.03)
        self.key = self.key or median(taken)
        self.note(f"a key{when}", median(taken), steps)

    async def stream(self) -> None:
        """Send what was typed, and type on while the reply streams."""
        assert self.app.session is not None
        await self.press("enter")
        await asyncio.sleep(0.1)
        await self.keys(" while a reply streams")

    async def quiet(self, seconds: float = 0.3) -> None:
        """Wait until the loop has had nothing long to do for a while."""
        last = time.monotonic()
        deadline = last + PATIENCE
        while time.monotonic() - last < seconds and time.monotonic() < deadline:
            before = time.monotonic()
            await asyncio.sleep(0.02)
            if time.monotonic() - before > 0.035:
                last = time.monotonic()


def _has_length(area: TextArea, length: int) -> bool:
    return len(area.text) == length


async def prepare(
    server: EmbeddedServer, prompts: int, items: int, chapters: int
) -> tuple[SessionId, LastPanel | None]:
    """Store a long chapter with a bank, and short ones for the list; return the long one and its panel."""
    store = await open_store(await asyncio.to_thread(server.acquire))
    try:
        for _ in range(chapters):
            await store.chapters.create(whole(1))
        made, stories = told(prompts), Stories(1)
        assert made.session is not None
        session = replace(made.session, keeps_bank=True)
        found = tuple(stories.item(session.id, 1 + number * prompts // items) for number in range(items))
        await store.chapters.create(replace(made, session=session, items=found))
        return session.id, LastPanel.of(session)
    finally:
        await store.aclose()


async def change_tabs(visit: Visit) -> None:
    """Go to each tab twice."""
    chapter = visit.app.chapter
    for when in WHEN:
        for key, tab in (("f2", "setup"), ("f4", "narrative"), ("f3", "play")):

            def shows(tab: str = tab) -> bool:
                return chapter.active_tab == tab

            await visit.measure(f"{key}, {when} time", partial(visit.press, key), shows)


async def open_lists(visit: Visit) -> None:
    """Open chapters, models and calls, twice each."""
    from storyengine_tui.screens.calls.calls_screen import CallsScreen
    from storyengine_tui.screens.library.chapters.chapters_screen import ChaptersScreen
    from storyengine_tui.screens.models.model_screen import ModelScreen

    app = visit.app

    def has_rows() -> bool:
        tables = app.screen.query(DataTable) if isinstance(app.screen, ChaptersScreen) else ()
        return any(table.row_count for table in tables)

    shown: dict[str, Callable[[], object]] = {
        "f5 chapters": has_rows,
        "f6 models": lambda: isinstance(app.screen, ModelScreen),
        "f7 calls": lambda: isinstance(app.screen, CallsScreen) and not app.screen._is_loading,
    }
    for when in WHEN:
        for name, holds in shown.items():
            await visit.measure(f"{name}, {when} time", partial(visit.press, name[:2]), holds)
            await visit.back()


async def search(visit: Visit) -> None:
    """Search for words, of which the last finds nothing."""
    from storyengine_tui.screens.search.search_screen import SearchScreen
    from storyengine_tui.shell.palette_commands import _search

    app = visit.app

    async def open_it() -> None:
        _search(app)

    def is_found(words: str) -> bool:
        return isinstance(app.screen, SearchScreen) and app.screen._shown == (words, False)

    await visit.measure("search, opened", open_it, lambda: isinstance(app.screen, SearchScreen))
    words = ""
    for more in ("lamp", " har", "bour", " zzzz", "q"):
        words += more
        await visit.measure(f"search, “{words}”", partial(visit.type, more), partial(is_found, words))
    await visit.back()
    engine, session = app.engine, app.session
    assert engine is not None
    assert session is not None
    texts, seconds = engine.keep_texts(), []
    for text in ("lamp", "lamp har", "lamp harbour", "ledger of the gull", "gull ledg", "tide"):
        began = time.perf_counter()
        await engine.search([session.id], text, texts=texts)
        seconds.append(time.perf_counter() - began)
    texts.close()
    first, others = seconds[0], median(seconds[1:])
    visit.figures += [
        Figure("a first search without the screen", first * 1000, "ms", first / visit.key),
        Figure.at_most("  the next ones", others * 1000, "ms", others / first, 0.2, "the first"),
    ]


async def work_in_bank(visit: Visit) -> None:
    """Mark all items as seen, confirm those of a list, take that back, and look for duplicates."""
    from storyengine_tui.screens.bank.bank_rows import Wanted
    from storyengine_tui.screens.narrative.memory.memory_cell import MemoryCell

    app, press, measure = visit.app, visit.press, visit.measure
    await press("f4")
    await visit.until(lambda: app.chapter.query(MemoryCell))
    cell = app.chapter.query_one(MemoryCell)
    await visit.until(lambda: cell.memory.blocks)
    await visit.quiet()
    app.set_focus(cell.memory.view)
    await measure("bank, list of facts", partial(press, "6"), lambda: cell.keeps_bank and cell.bank.view.rows)

    async def see_all() -> None:
        assert app.session is not None
        await app.session.bank.mark_seen([row.item for row in cell.bank.rows or ()])

    rows = cell.bank.rows
    is_new = any(row.item.version == 1 for row in rows or ())
    await measure("bank, all seen", see_all, lambda: cell.bank.rows is not rows or not is_new)
    view = cell.bank.view
    app.set_focus(view)
    await measure("bank, all marked", partial(press, "a"), lambda: view.marked_count)

    await measure("bank, all confirmed", partial(press, "c"), lambda: "onfirmed" in cell.bank.title)
    await measure("bank, undone", partial(press, "u"), lambda: "Undone" in cell.bank.title)
    await measure(
        "bank, duplicates",
        partial(press, "d"),
        lambda: cell.bank.wanted is Wanted.ALIKE and cell.bank._groups is not None,
    )
    await measure("bank, all again", partial(press, "d"), lambda: cell.bank.wanted is Wanted.ALL)
    await press("f3")
    await visit.quiet()


async def look_for_garbage(visit: Visit) -> None:
    """Look through everything, as the app does in a long pause, and then through the objects of a search."""

    def seconds_of_a_look() -> float:
        began = time.perf_counter()
        gc.collect()
        gc.freeze()
        return time.perf_counter() - began

    gc.unfreeze()
    everything = seconds_of_a_look()
    await search(visit)
    new = seconds_of_a_look()
    visit.figures += [
        Figure("a look through everything for garbage", everything * 1000, "ms", everything / visit.key),
        Figure.at_most("  at the objects of a search since", new * 1000, "ms", new / everything, 0.5, "all"),
    ]


STAGES: dict[str, Callable[[Visit], Awaitable[None]]] = {
    "tabs": change_tabs,
    "lists": open_lists,
    "search": search,
    "bank": work_in_bank,
    "stream": Visit.stream,
    "garbage": look_for_garbage,
}


async def visit_all(home: Path, only: Collection[str] = (), *, where: bool = False) -> list[Figure]:
    """Start the program on the story in `home`, and measure, or some parts `only`."""
    paths = _paths(home)
    script = home / "replies.toml"
    script.write_text(SCRIPT, "utf-8")
    settings = Settings(
        provider="scripted", script=script, embedding=EmbeddingSettings(service="off"), _env_file=None
    )
    gc.disable()  # as the command does: the app turns it on again when it is quiet
    app = StoryEngineApp(running_engine, Configuration(paths, settings))
    steps = Steps(looks=where)
    began = time.perf_counter()
    with steps.watched():
        async with app.run_test(size=(120, 40)) as pilot:
            visit = Visit(pilot, app, where)
            await visit.until(lambda: app.session is not None and app.chapter.is_open)
            visit.note("start, until the chapter is open", time.perf_counter() - began, steps)
            await visit.quiet(1.0)
            visit.note("start, and what comes behind it", time.perf_counter() - began, steps)
            await visit.keys("")
            for name, stage in STAGES.items():
                if name in (only or STAGES):
                    await stage(visit)
            await app.close_everything()
    return visit.figures


def _paths(home: Path) -> Paths:
    return Paths(*(home / name for name in ("data", "config", "logs", "downloads")))


def prepare_beside(home: Path, *amounts: int) -> None:
    """Store the story in a process of its own: what that makes is no garbage of the program's."""
    paths = _paths(home)
    for place in (paths.data, paths.config):
        place.mkdir(parents=True, mode=0o700)
    making = multiprocessing.get_context("spawn").Process(target=_store, args=(home, amounts))
    making.start()
    making.join()
    if making.exitcode:
        raise RuntimeError("the story could not be stored")


def _store(home: Path, amounts: tuple[int, int, int]) -> None:
    paths = _paths(home)
    server = EmbeddedServer(paths.server)
    try:
        session_id, panel = asyncio.run(prepare(server, *amounts))
        write_last_session(paths, session_id, panel)
    finally:
        server.release()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=6_000)
    parser.add_argument("--items", type=int, default=5_000)
    parser.add_argument("--chapters", type=int, default=300)
    parser.add_argument("--only", nargs="+", choices=STAGES, help="some parts alone")
    parser.add_argument("--where", action="store_true", help="say in which calls long steps were")
    parser.add_argument("--folder", type=Path, help="where the story is, or is made and stays")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="storyengine-bench-", ignore_cleanup_errors=True) as made:
        home = (arguments.folder or Path(made)) / "home"
        if not home.exists():
            prepare_beside(home, arguments.prompts, arguments.items, arguments.chapters)
        figures = asyncio.run(visit_all(home, arguments.only, where=arguments.where))
    print_table(f"A story of {arguments.prompts:,} prompts on the screen", figures)


if __name__ == "__main__":
    main()
