"""Take the README's pictures from the real program: `make screenshots`.

The application runs without a terminal, on a real engine and a private database of its own, and plays an
example with the scripted provider. Clock and time zone are fixed: the same program gives the same pictures.
"""

import asyncio
import json
import os
import tempfile
import time
import tomllib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import OptionList

from core.config.consent import Consent
from core.config.files.paths import Paths
from core.config.models.assignments import defaults_for
from core.config.settings import Settings
from core.domain.audience import Audience
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.engine.engine_settings import CallRules
from core.engine.session.session_handle import SessionHandle
from core.ledger.prices import PriceBook
from core.providers.base import Completion, ModelRequest, TextDelta
from core.providers.scripted.provider import ScriptedProvider
from core.providers.scripted.script import Entry, Script, ScriptMatch
from storyengine_tui.bootstrap import Configuration, running_store
from storyengine_tui.screens.calls.inputs import call_rows
from storyengine_tui.screens.system.example_chapters import find_examples
from storyengine_tui.shell.app import StoryEngineApp

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "docs" / "screenshots"
SIZE = (120, 40)
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
PATIENCE = 60.0
ADDRESS = "https://api.example.com/v1"
EXAMPLE, MYSTERY = "The Lamp at Grey Point", "The Theft at the Royal"

Play = dict[str, Any]


def script_of(play: Play) -> Script:
    """Return the replies, and what the summaries and the narrative agent answer.

    An input holds the earlier prompts too, so what answers to the latest one comes first.
    """
    text, delta = {"schema": "text"}, {"schema": "turn_delta"}
    replies = [
        Entry(match=ScriptMatch(**text, last=prompt["text"]), text=prompt["reply"])
        for prompt in play["prompt"]
    ]
    deltas = [Entry(match=ScriptMatch(**delta, last=one.pop("of")), payload=one) for one in play["delta"]]
    lock = Entry(match=ScriptMatch(schema="world_chapter_lock"), payload=play["lock"])
    prose = Entry(match=ScriptMatch(**text, anywhere="NARRATIVE_AGENT_DEFINITION"), text=play["prose"])
    again = [
        Entry(match=ScriptMatch(**text, last=prompt["text"]), text=prompt["reply"], times=1)
        for prompt in play["mystery"]["prompt"]
    ]
    taken = Entry(
        match=ScriptMatch(**text, last=play["mystery"]["prompt"][1]["text"]), text=play["mystery"]["again"]
    )
    helped = Entry(match=ScriptMatch(**text, last="GM_TEXT"), text=play["help"].strip())
    drawn = Entry(match=ScriptMatch(schema="bank_scan"), payload=play["bank"]["drawn"])
    replies = [*reversed(deltas), *reversed(replies), *reversed(again), taken]
    return Script(reply=(helped, lock, prose, drawn, *replies))


def starter(script: Script, paid: Paths | None = None) -> Callable[[Configuration], Any]:
    """Return how the application starts its engine: as ever, but for the clock.

    With the paths in `paid`, a service elsewhere answers, and its calls cost money.
    """

    @asynccontextmanager
    async def start(configuration: Configuration) -> AsyncIterator[Engine]:
        async with running_store(configuration) as store:
            yield Engine(
                store,
                ScriptedProvider(script) if paid is None else Billed(script),
                defaults_for("scripted"),
                label="here",
                clock=lambda: NOON,
                rules=CallRules(Consent((ADDRESS,), paid.consent_file) if paid else None, PriceBook()),
            )

    return start


async def until(pilot: Pilot[None], holds: Callable[[], object]) -> None:
    """Let the application work until `holds`."""
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await pilot.pause(0.02)
    await pilot.pause()


async def still(pilot: Pilot[None]) -> None:
    """Let the application work until nothing on its screen changes any more."""
    before, after = "", "unknown"
    while before != after:
        await pilot.pause(0.3)
        before, after = after, pilot.app.export_screenshot()


async def take(pilot: Pilot[None], name: str) -> None:
    """Write a picture."""
    await still(pilot)
    OUT.mkdir(parents=True, exist_ok=True)
    picture = "\n".join(line.rstrip() for line in pilot.app.export_screenshot().splitlines())
    (OUT / f"{name}.svg").write_text(f"{picture}\n", encoding="utf-8", newline="\n")


async def play_prompts(session: SessionHandle, play: Play) -> None:
    """Lock, and play every prompt."""
    await session.wait(await session.lock())
    slots = {session.snapshot.session.name_of(slot): slot for slot in session.snapshot.session.slots}
    for prompt in play["prompt"]:
        await session.wait(await session.submit_prompt(slots[prompt["to"]], prompt["text"]))
    await session.wait_idle()


async def show(pilot: Pilot[None], app: StoryEngineApp, play: Play) -> None:
    """Set the example up, play it and have it written; take a picture of each tab."""
    await until(pilot, lambda: app.session is not None and len(app.screen_stack) > 1)
    await pilot.press("escape")
    [example] = [one for one in find_examples() if one.title == EXAMPLE]
    await app.workspace.open_example(example)
    session = app.workspace.session
    assert session is not None
    await session.edits.define_narrative(play["definition"].strip(), play["target_words"])
    await app.chapter.show_again()
    await take(pilot, "1-world")

    await play_prompts(session, play)
    await session.edits.save_unsent(Slot.YELLOW, play["unsent"])
    await app.chapter.show_again()
    await pilot.press("f3")
    await take(pilot, "2-play")

    await session.edits.save_unsent(Slot.YELLOW, "")
    await app.chapter.show_again()
    await session.end_chapter()
    await session.wait_idle()
    await session.wait(await session.build_narrative())
    await until(pilot, lambda: app.chapter.active_tab == "narrative")
    await take(pilot, "3-chapter")


async def show_calls(pilot: Pilot[None], app: StoryEngineApp, play: Play) -> None:
    """Play the first example again with a service that bills its calls; take pictures of the costs.

    Then let a text be helped with on tab 1 of a new chapter.
    """
    await until(pilot, lambda: app.session is not None and app.chapter.is_open)
    [example] = [one for one in find_examples() if one.title == EXAMPLE]
    await app.workspace.open_example(example)
    session = app.workspace.session
    assert session is not None
    await play_prompts(session, play)
    await app.chapter.show_again()
    # Measured times differ from run to run.
    vars(call_rows).update(seconds=lambda _: "0.84 s", elapsed_text=lambda _: "0:31")
    await pilot.press("f7")
    await take(pilot, "7-calls")
    await pilot.press("3")
    await take(pilot, "8-money")
    await pilot.press("1")
    await still(pilot)
    await pilot.press("p", "escape")
    slots = {session.snapshot.session.name_of(slot): slot for slot in session.snapshot.session.slots}
    for waiting in play["waiting"]:
        await session.submit_prompt(slots[waiting["to"]], waiting["text"])
    await pilot.press("f7", "1")
    await take(pilot, "10-queue")
    await pilot.press("p", "escape")
    await session.wait_idle()
    await app.workspace.open_example(example)
    await app.chapter.show_again()
    await until(pilot, lambda: app.chapter.is_open and app.focused is not None)
    await pilot.press("f2", "alt+a", "s")
    await until(pilot, lambda: not app.screen.query_one("#take").disabled)
    await take(pilot, "9-help-with-a-text")
    await pilot.press("escape")


async def show_bank(pilot: Pilot[None], app: StoryEngineApp, play: Play) -> None:
    """Play the first example with a memory bank, and take a picture of its facts."""
    [example] = [one for one in find_examples() if one.title == EXAMPLE]
    await app.workspace.open_example(example)
    session = app.workspace.session
    assert session is not None
    await play_prompts(session, play)
    await session.keeping.keep(is_on=True)
    await session.keeping.wait_until_read()
    await session.wait_idle()
    bank, items = session.bank, {item.text: item for item in await session.bank.items()}
    await bank.confirm([items[text] for text in play["bank"]["confirmed"]])
    await bank.pin([items[text] for text in play["bank"]["pinned"]])
    await app.chapter.show_again()
    await until(pilot, lambda: app.chapter.is_open)
    app.chapter.do_there("narrative", "bank_list('facts')")
    await until(pilot, lambda: app.chapter.active_tab == "narrative")
    await take(pilot, "14-memory-bank")


async def show_mystery(pilot: Pilot[None], app: StoryEngineApp, play: Play) -> None:
    """Play a mystery with secrets, a whisper, a line, a roll and another take; take a picture of each."""
    [example] = [one for one in find_examples() if one.title == MYSTERY]
    await app.workspace.open_example(example)
    session = app.workspace.session
    assert session is not None
    await app.chapter.show_again()
    await pilot.press("f2")
    await take(pilot, "6-secrets")

    session.scene.draw = lambda sides: sides // 2
    await session.wait(await session.lock())
    await session.scene.narrate(play["line"].strip())
    slots = {session.snapshot.session.name_of(slot): slot for slot in session.snapshot.session.slots}
    for number, prompt in enumerate(play["prompt"]):
        slot = slots[prompt["to"]]
        if "present" in prompt:
            await session.scene.set_present([slots[name] for name in prompt["present"]])
        heard_by = Audience.of([slot]) if prompt.get("whisper") else None
        await session.wait(await session.submit_prompt(slot, prompt["text"].strip(), heard_by=heard_by))
        if number == 1:
            await app.chapter.show_again()
            await pilot.press("f3")
            await session.wait(await session.takes.reroll())
            await take(pilot, "4-takes")
    await session.scene.roll(play["roll"], hearers=[slots["Odile Quint"]])
    await session.edits.save_unsent(slots["Tobias Crake"], play["unsent"])
    await app.chapter.show_again()
    await pilot.press("f3", f"alt+{int(slots['Tobias Crake'])}", "ctrl+l")
    await take(pilot, "5-who-hears-it")
    await pilot.press("escape")


async def show_library(pilot: Pilot[None], app: StoryEngineApp, play: Play) -> None:
    """Keep the cast of the first example, import lore, begin the next chapter; take pictures of them."""
    engine = app.engine
    assert engine is not None
    library = engine.library
    [lamp] = [one for one in await engine.sessions() if one.title == EXAMPLE]
    identities = (await engine.reader(lamp.id).load()).tab1.identities
    for about, identity in zip(play["character"], identities.values(), strict=True):
        made = await library.characters.create(about["name"], identity.strip())
        names = tuple(about["aliases"])
        known = replace(made, aliases=names, group=about["group"], short_description=about["what"])
        await library.characters.save(known)
    for book in play["lorebook"]:
        entries = {str(number): {"uid": number, **one} for number, one in enumerate(book["entry"])}
        world = {"name": book["name"], "entries": entries}
        await library.lore.import_lore(json.dumps(world).encode(), "world.json")
    await app.workspace.open_next(lamp.id)
    [made_book] = await library.books.listed()
    await library.books.save(replace(made_book, title=play["book"]))
    session = app.workspace.session
    assert session is not None
    await session.edits.edit_tab1(Tab1Edit(title=play["title"], chapter=play["chapter"].strip()))
    await app.chapter.show_again()
    await pilot.press("f2")
    carried = app.chapter.query_one("#carried-list", OptionList)
    carried.focus()
    await still(pilot)
    await pilot.press("p")
    await until(pilot, lambda: session.snapshot.tab1.carried.lines[0].is_pinned)
    await app.chapter.show_again()  # the clock stands, so nothing says that the chapter has changed
    app.chapter.query_one("#carried").scroll_visible(animate=False, top=True)
    await take(pilot, "12-next-chapter")
    await pilot.press("f5", "3")
    await take(pilot, "11-library")
    await pilot.press("4", "enter")
    await still(pilot)
    await pilot.press("t")
    await still(pilot)
    app.post_message(Paste(play["tried"].strip()))
    await take(pilot, "13-lore")
    await pilot.press("escape", "escape", "escape")


class Billed(ScriptedProvider):
    """The script as a service elsewhere that names what each call costs, by the length of its answer."""

    @property
    def name(self) -> str:
        """The kind of provider that an artifact names."""
        return "openai"

    @property
    def base_url(self) -> str | None:
        """Address that text would go to."""
        return ADDRESS

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        """Answer as the script does, with a bill."""
        async for item in super().stream(request):
            if isinstance(item, Completion):
                cents = Decimal(40 + 7 * (item.usage.output_tokens or 0)) / 10_000
                yield replace(item, billed=cents)
            else:
                yield item


async def main() -> None:
    """Take all pictures."""
    play = tomllib.loads((ROOT / "tools" / "screenshots.toml").read_text("utf-8"))
    with tempfile.TemporaryDirectory(prefix="storyengine-pictures-", ignore_cleanup_errors=True) as name:
        home = Path(name)
        paths = Paths(home / "data", home / "config", home / "logs", home / "downloads")
        settings = Settings(provider="scripted", _env_file=None)
        script = script_of(play)
        app = StoryEngineApp(starter(script), Configuration(paths, settings))
        async with app.run_test(size=SIZE) as pilot:
            await show(pilot, app, play)
            await show_mystery(pilot, app, play["mystery"])
            await show_library(pilot, app, play["library"])
            await app.close_everything()
        paid = StoryEngineApp(starter(script, paths), Configuration(paths, settings))
        async with paid.run_test(size=SIZE) as pilot:
            await show_calls(pilot, paid, play)
            await show_bank(pilot, paid, play)
            await paid.close_everything()


if __name__ == "__main__":
    for variable in ("NO_COLOR", "TEXTUAL_THEME", "TEXTUAL_ANIMATIONS"):
        os.environ.pop(variable, None)
    # Whatever this terminal can show: one of 16 colours has others for the slots.
    os.environ["COLORTERM"] = "truecolor"
    os.environ["TZ"] = "UTC"
    time.tzset()
    asyncio.run(main())
