"""Measures a book as it grows: ten chapters in a row, each the next one of the one before.

    python -m bench.input.book [--chapters 10] [--prompts 28]

Plays every chapter with the scripted provider on the private server. Three characters answer in turns, one
prompt in fifteen is whispered to the first of them, and of the lines from the first chapter one for all
and one for her alone are pinned. Printed:

- tokens of each character's last input, in the last chapter against the second;
- how many inputs of the last chapter have the pinned lines that they may have;
- words that were whispered in inputs of those who did not hear them, over all chapters.
"""

import argparse
import asyncio
import re
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.measure import Figure, print_table
from bench.recorder import Recorder
from bench.synthetic_sessions import sentences
from core.config.models.assignments import defaults_for
from core.domain.audience import Audience
from core.domain.ids import SessionId
from core.domain.session.carry_over import CarriedLine, CarryKind
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from db.embedded.server import EmbeddedServer
from db.store import open_store

CHAPTERS, PROMPTS = 10, 28
MOST_GROWN = 1.05
NAMES = {Slot.RED: "Kara", Slot.ORANGE: "Joss", Slot.YELLOW: "Ines"}
WORLD_WORDS, IDENTITY_WORDS, PROMPT_WORDS = 300, 120, 20
_WHISPERED, _OF = 9, 15
_SECRET = re.compile(r"hush\d+x\d+")


@dataclass
class PlayedBook:
    """Record of a book: tokens of the last input of each character, by chapter, and every input."""

    tokens: dict[int, dict[Slot, int]] = field(default_factory=dict)
    inputs: dict[int, list[tuple[Slot, str]]] = field(default_factory=dict)
    pinned: list[CarriedLine] = field(default_factory=list)


async def play(engine: Engine, model: Recorder, chapters: int, prompts: int) -> PlayedBook:
    """Play a book of so many chapters of so many prompts each."""
    book = PlayedBook()
    chapter = await engine.create()
    await _set_up(engine, chapter)
    for number in range(1, chapters + 1):
        if number > 1:
            chapter = await engine.library.books.next_chapter(chapter)
        if number == 2:
            book.pinned = await _pin(engine, chapter)
        model.calls.clear()
        book.tokens[number] = await _play_chapter(engine, chapter, number, prompts)
        book.inputs[number] = model.sent
    return book


async def _set_up(engine: Engine, chapter: SessionId) -> None:
    session = await engine.open(chapter)
    identities = {slot: sentences(IDENTITY_WORDS, slot.value) for slot in NAMES}
    world = sentences(WORLD_WORDS, 10)
    await session.edits.edit_tab1(Tab1Edit(title="A book", world=world, names=NAMES, identities=identities))
    await session.aclose()


async def _pin(engine: Engine, chapter: SessionId) -> list[CarriedLine]:
    """Pin a line of canon for all and one that is known to the first character alone; return them."""
    session = await engine.open(chapter)
    carried = session.snapshot.tab1.carried
    public = next(at for at, line in enumerate(carried.lines) if line.kind is CarryKind.CANON)
    private = next(at for at, line in enumerate(carried.lines) if _SECRET.search(line.text))
    for at in (public, private):
        carried = carried.with_line(at, replace(carried.lines[at], is_pinned=True))
    await session.edits.edit_tab1(Tab1Edit(carried=carried))
    await session.aclose()
    return [carried.lines[public], carried.lines[private]]


async def _play_chapter(engine: Engine, chapter: SessionId, number: int, prompts: int) -> dict[Slot, int]:
    session = await engine.open(chapter)
    await session.edits.edit_tab1(Tab1Edit(chapter=sentences(60, 100 + number)))
    await session.wait(await session.lock())
    for at in range(prompts):
        slot = Slot(at % len(NAMES) + 1)
        is_whisper = at % _OF == _WHISPERED
        said = sentences(PROMPT_WORDS, number * 1_000 + at)
        text = f"{said} hush{number}x{at}." if is_whisper else said
        heard_by = Audience.of([slot]) if is_whisper else None
        await session.wait(await session.submit_prompt(slot, text, heard_by=heard_by))
        await session.wait_idle()
    tokens = {slot: (await engine.preview(chapter, slot, "And now?")).tokens for slot in NAMES}
    await session.end_chapter()
    await session.wait_idle()
    await session.aclose()
    return tokens


def figures_of(book: PlayedBook) -> list[Figure]:
    """Return the figures of a book that was played."""
    last = max(book.tokens)
    made: list[Figure] = []
    for slot, name in NAMES.items():
        second, now = book.tokens[2][slot], book.tokens[last][slot]
        ratio = now / second
        goal = f"≤ {MOST_GROWN} × chapter 2"
        made.append(
            Figure(f"book: input of {name}, chapter {last}", now, "tokens", ratio, goal, ratio <= MOST_GROWN)
        )
    public, private = book.pinned
    due = [(slot, text, line) for slot, text in book.inputs[last] for line in (public, private)]
    due = [one for one in due if one[2] is public or one[0] is Slot.RED]
    held = sum(line.text in text for _, text, line in due) / len(due)
    made.append(Figure("book: pins of chapter 1 where they are due", held * 100, "%", held, "all", held == 1))
    outside = sum(
        len(_SECRET.findall(text))
        for inputs in book.inputs.values()
        for slot, text in inputs
        if slot is not Slot.RED
    )
    heard = sum(len(_SECRET.findall(text)) for one in book.inputs.values() for _, text in one)
    made.append(Figure("book: whispers in inputs of those who heard them", heard, ""))
    made.append(Figure("book: whispers outside of them", outside, "", None, "0", outside == 0))
    return made


async def measure(chapters: int, prompts: int, home: Path) -> list[Figure]:
    """Play a book on a private server in `home`, and return its figures."""
    server = EmbeddedServer(home)
    url = await asyncio.to_thread(server.acquire)
    try:
        store = await open_store(url)
        model = Recorder()
        engine = Engine(store, model, defaults_for("scripted"), label="bench")
        try:
            return figures_of(await play(engine, model, chapters, prompts))
        finally:
            await engine.aclose()
    finally:
        await asyncio.to_thread(server.release)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chapters", type=int, default=CHAPTERS)
    parser.add_argument("--prompts", type=int, default=PROMPTS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="storyengine-bench-", ignore_cleanup_errors=True) as folder:
        made = asyncio.run(measure(arguments.chapters, arguments.prompts, Path(folder) / "postgres"))
    print_table("A book", made)


if __name__ == "__main__":
    main()
