"""Chapter scripts in which not everyone knows everything: played, stopped anywhere, and played on."""

import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.domain.audience import EVERYONE, Audience
from core.domain.ids import SessionId
from core.domain.requests.request import NarrativeRequest
from core.domain.slot import Slot
from core.domain.story.event import Role
from core.engine.scripts.player import ScriptMismatchError, ScriptPlayer
from core.engine.scripts.sessions import ScriptBranches
from core.engine.session.session_handle import SessionHandle
from core.exchange.scripts.chapter_script import ChapterScript, load_chapter_script, parse_chapter_script
from core.providers.base import ModelRequest
from db.store import PostgresStore
from tests.core.values.scripts import KARA_JOSS_INES
from tests.engine.windows import Recorder, engine_on, window

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("without_auto_saves")]
IS_WHOLE = os.environ.get("STORYENGINE_TORTURE") == "full"
KARA, JOSS, INES = (Audience.of([slot]) for slot in tuple(Slot)[:3])
SECRET = "The captain is his own brother."
PLAN = f"""
[[secret]]
text = "{SECRET}"
known_by = ["Kara"]
reveal_at = 4
reveal_to = ["Joss"]
"""
PROMPTS = """
[[prompt]]
text = "Who is there?"
line = "It rains."
roll = "2d6+1"
takes = 2

[[prompt]]
text = "Count the candles."
present = ["Kara", "Joss"]

[[prompt]]
to = "Kara"
text = "Take the key."
line = "A hand finds yours."
whisper = true

[[prompt]]
text = "Jump."
roll = "d20"
undo = true

[[prompt]]
text = "Wait."
line = "The tide turns."
heard_by = ["Ines"]

[[prompt]]
text = "And now?"
then = ["Kara", "Joss"]
present = ["Kara", "Joss", "Ines"]
"""
SETTING = f"""
world = "A sea of glass."
chapter = "The lamp is out."
{KARA_JOSS_INES}"""
WHOLE = SETTING + PLAN + PROMPTS


def script(text: str = WHOLE) -> ChapterScript:
    return parse_chapter_script(text)


class Dice:
    """Rolls the highest face, and counts the rolls."""

    def __init__(self) -> None:
        self.rolled = 0

    def __call__(self, sides: int) -> int:
        self.rolled += 1
        return sides - 1


@asynccontextmanager
async def played(
    store: PostgresStore, text: str, session_id: SessionId | None = None, model: Recorder | None = None
) -> AsyncIterator[SessionHandle]:
    async with window(store, model, session_id) as session:
        session.scene.draw = Dice()
        await ScriptPlayer(session, script(text), lambda _: None, retry_wait=0.0).play()
        yield session


def shown(events: object) -> list[tuple[tuple[int, int], str, Audience]]:
    assert isinstance(events, list | tuple)
    return [(one.place, one.text, one.audience) for one in events if one.role is not Role.AGENT]


PLAYED = [
    ((0, 0), "It rains.", EVERYONE),
    ((0, 1), "[Roll 2d6+1: 6, 6; total 13]", EVERYONE),
    ((1, 0), "Who is there?", EVERYONE),
    ((2, 0), "Count the candles.", KARA | JOSS),
    ((2, 2), "A hand finds yours.", KARA),
    ((3, 0), "Take the key.", KARA),
    ((3, 2), "[Roll d20: 20]", KARA | JOSS),
    ((3, 3), SECRET, JOSS),
    ((3, 4), "The tide turns.", JOSS | INES),
    ((4, 0), "Wait.", JOSS | INES),
    ((5, 0), "And now?", EVERYONE),
]


def text_of(call: ModelRequest) -> str:
    return "\n".join(message.content for message in call.messages)


async def test_a_script_says_who_is_present_who_hears_and_what_is_rolled_and_told(
    store: PostgresStore,
) -> None:
    model = Recorder()
    async with played(store, WHOLE, model=model) as session:
        assert shown(await session.reads.canon()) == PLAYED
        assert session.snapshot.session.present == EVERYONE
        assert [secret.text for secret in session.snapshot.secrets] == [SECRET]
    for name, unknown in (
        ("Kara", ["The tide turns.", "Wait."]),
        ("Joss", ["A hand finds yours.", "Take the key."]),
        ("Ines", ["Count the candles.", "A hand finds yours.", "Take the key.", "[Roll d20", SECRET]),
    ):
        inputs = "\n".join(text_of(call) for call in model.calls if f"Name: {name}" in text_of(call))
        assert inputs
        assert not [text for text in unknown if text in inputs]
    assert SECRET in "\n".join(text_of(call) for call in model.calls if "Name: Joss" in text_of(call))


async def test_a_script_that_was_played_is_not_rolled_told_or_revealed_again(store: PostgresStore) -> None:
    async with played(store, WHOLE) as session:
        log = await store.log(session.id)
    async with played(store, WHOLE, session.id) as again:
        assert isinstance(dice := again.scene.draw, Dice)
        assert dice.rolled == 0
        assert await store.log(session.id) == log


class StopsError(Exception):
    """The program ended."""


COMMANDS = (
    ("lock", "submit_prompt", "end_chapter", "build_narrative"),
    ("edit_tab1",),
    ("set_present", "narrate", "roll", "edit_secrets"),
    ("reroll", "undo"),
)


class Stop:
    """Ends a play before or after one of the GM's commands, the one with this number."""

    def __init__(self, session: SessionHandle, number: int, *, is_done: bool) -> None:
        self._left, self._is_done = number, is_done
        owners = (session, session.edits, session.scene, session.takes)
        for owner, names in zip(owners, COMMANDS, strict=True):
            for name in names:
                setattr(owner, name, self._stopping(getattr(owner, name)))

    def _stopping(self, command: Callable[..., Any]) -> Callable[..., Any]:
        async def run(*arguments: Any, **named: Any) -> Any:
            self._left -= 1
            if self._left == 0 and not self._is_done:
                raise StopsError
            result = await command(*arguments, **named)
            if self._left == 0:
                raise StopsError
            return result

        return run


@pytest.mark.slow
@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
async def test_a_script_that_stops_at_any_of_its_commands_goes_on_to_the_same_chapter(
    store: PostgresStore, is_done: bool
) -> None:
    """Before a command nothing else is stored than after the one before it; each way has every fourth."""
    number, has_stopped = 0 if is_done or IS_WHOLE else 2, True
    while has_stopped:
        number += 1 if IS_WHOLE else 4
        async with window(store) as session:
            session.scene.draw = Dice()
            Stop(session, number, is_done=is_done)
            try:
                await ScriptPlayer(session, script(), lambda _: None, retry_wait=0.0).play()
            except StopsError:
                await session.wait_idle()
            else:
                has_stopped = False
        async with played(store, WHOLE, session.id) as session:
            assert shown(await session.reads.canon()) == PLAYED, f"stopped at command {number}"
            rolls = [event for event in await store.log(session.id) if event.metadata.get("roll")]
            assert len(rolls) == 2
    assert number > 18


BRANCHING = (
    WHOLE
    + """
[[prompt]]
branch_at = 2
to = "Ines"
text = "You are alone with it."
line = "The lamp is lit again."
"""
)


async def play_lines(store: PostgresStore, made: ChapterScript, model: Recorder | None = None) -> SessionId:
    """Play a script with its branches; return the session of the last one."""
    engine = engine_on(store)
    branches = ScriptBranches(engine, made)
    at, session_id = await branches.furthest((await engine.find_or_create(made.key))[0])
    while True:
        is_last = at + 1 == len(branches.lines)
        async with window(store, model, session_id) as session:
            session.scene.draw = Dice()
            await ScriptPlayer(session, branches.lines[at], lambda _: None, is_last=is_last).play()
        if is_last:
            return session_id
        at += 1
        session_id = await branches.branch(at, session_id)


async def test_a_branch_has_the_lines_after_its_prompt_and_those_who_were_present_then(
    store: PostgresStore,
) -> None:
    for _ in range(2):  # the second time nothing is left to do
        session_id = await play_lines(store, script(BRANCHING))
        assert shown(await store.canon(session_id)) == [
            *PLAYED[:5],
            ((2, 3), "The lamp is lit again.", EVERYONE),
            ((3, 0), "You are alone with it.", EVERYONE),
        ]
        assert (await store.load(session_id)).session.present == KARA | JOSS


MYSTERY = Path(__file__).parents[3] / "examples" / "the_theft_at_the_royal.toml"


async def test_in_the_mystery_of_the_examples_each_is_told_what_they_may_know_and_no_more(
    store: PostgresStore,
) -> None:
    made, model = load_chapter_script(MYSTERY), Recorder()
    session_id = await play_lines(store, made, model)
    cast = {one.name: Audience.of([one.slot]) for one in made.cast}
    told = 0
    for call in model.calls:
        name = re.search("^Name: (.*)$", text_of(call), re.MULTILINE)
        if name is None or call.schema is not None:
            continue
        asked = call.messages[-1].content.rpartition("=== USER_PROMPT ===")[2]
        prompt = next(one for one in made.prompts if one.text in asked)
        knows = cast[name[1]]
        for secret in made.secrets:
            label = secret.known_by
            if secret.reveal_at is not None and secret.reveal_at <= prompt.index:
                label |= secret.reveal_to or EVERYONE
            assert (secret.text in text_of(call)) == label.includes(knows), (
                name[1],
                prompt.index,
                secret.text,
            )
            told += label.includes(knows)
        for other in made.prompts:
            heard = other.audience is None or other.audience.includes(knows)
            assert heard or other.text not in text_of(call), (name[1], prompt.index, other.text)
    assert told > 20
    shown_here = shown(await store.canon(session_id))
    assert sum(text in [one.text for one in made.secrets] for _, text, _ in shown_here) == len(made.secrets)
    assert ((9, 3), "[Roll d20: 20]", cast["Pip Marlow"]) in shown_here
    written = text_of(model.calls[-1])
    assert "Nobody looks at the prompter." not in written, "Pip tells it, who was not told"


async def test_the_narrative_is_written_from_the_viewpoint_of_the_script(store: PostgresStore) -> None:
    model = Recorder()
    async with played(store, f'viewpoint = "Joss"\n{WHOLE}', model=model) as session:
        requests = await session.reads.requests()
    assert [one.viewpoint for one in requests if isinstance(one, NarrativeRequest)] == [Slot.ORANGE]
    written = text_of(model.calls[-1])
    assert "The tide turns." in written
    assert "Take the key." not in written


async def test_what_the_gm_rolls_and_tells_between_two_runs_is_not_taken_for_the_script_s(
    store: PostgresStore,
) -> None:
    first = WHOLE[: WHOLE.index('[[prompt]]\ntext = "Wait."')]
    async with window(store) as session:
        session.scene.draw = Dice()
        player = ScriptPlayer(session, script(first), lambda _: None, is_last=False)
        await player.play()
        await session.scene.narrate("A gull cries.")
        await session.scene.roll("d20")
    async with played(store, WHOLE, session.id) as session:
        told = [event.text for event in await session.reads.canon() if event.prompt_index == 3]
        assert told[2:] == [
            "[Roll d20: 20]",
            SECRET,
            "A gull cries.",
            "[Roll d20: 20]",
            "The tide turns.",
        ]


async def test_a_secret_that_the_gm_added_stays_and_one_of_the_script_may_be_planned_anew(
    store: PostgresStore,
) -> None:
    first = WHOLE[: WHOLE.index('[[prompt]]\nto = "Kara"')]
    async with window(store) as session:
        await ScriptPlayer(session, script(first), lambda _: None, is_last=False).play()
        own = replace(session.snapshot.secrets[0], number=2, text="The map is wrong.")
        await session.scene.edit_secrets([*session.snapshot.secrets, own])
    async with played(store, WHOLE.replace("reveal_at = 4", "reveal_at = 3"), session.id) as session:
        assert [(one.text, one.reveal_at) for one in session.snapshot.secrets] == [
            (SECRET, 3),
            (own.text, 4),
        ]
        other = script(WHOLE.replace(SECRET, "He is not."))
        with pytest.raises(ScriptMismatchError, match="The secrets of the script are not those"):
            await ScriptPlayer(session, other, lambda _: None).play()


async def test_with_an_empty_scene_each_hears_alone_what_is_said_to_them(store: PostgresStore) -> None:
    text = SETTING + '[[prompt]]\npresent = []\ntext = "One."\nline = "Dark."\n[[prompt]]\ntext = "Two."\n'
    async with played(store, text) as session:
        assert shown(await session.reads.canon()) == [
            ((0, 0), "Dark.", KARA),
            ((1, 0), "One.", KARA),
            ((2, 0), "Two.", JOSS),
        ]


OTHER_SCRIPTS = (
    ('line = "It rains."', 'line = "It snows."', "The lines before prompt 1 of the script were others"),
    ('roll = "2d6+1"', 'roll = "2d6"', "The lines before prompt 1 of the script were others"),
    ('roll = "d20"\n', "", "The lines before prompt 4 of the script were others"),
    ("whisper = true", "whisper = false", "Prompt 3 of the script was heard by others before"),
    ('present = ["Kara", "Joss"]', 'present = ["Joss"]', "Prompt 2 of the script was heard by others"),
)


async def test_a_script_that_says_now_who_knew_something_else_is_refused(store: PostgresStore) -> None:
    async with played(store, WHOLE) as session:
        log = await store.log(session.id)
        for old, new, why in OTHER_SCRIPTS:
            changed = script(WHOLE.replace(old, new))
            with pytest.raises(ScriptMismatchError, match=why):
                await ScriptPlayer(session, changed, lambda _: None).play()
            assert await store.log(session.id) == log


async def test_a_line_that_was_stored_for_a_prompt_that_is_another_now_is_refused(
    store: PostgresStore,
) -> None:
    async with window(store) as session:
        session.scene.draw = Dice()
        Stop(session, 5, is_done=True)  # after the first roll
        with pytest.raises(StopsError):
            await ScriptPlayer(session, script(), lambda _: None).play()
    async with window(store, session_id=session.id) as session:
        changed = script(WHOLE.replace("It rains.", "It snows."))
        with pytest.raises(ScriptMismatchError, match="The lines after prompt 0 are not those"):
            await ScriptPlayer(session, changed, lambda _: None).play()


async def test_a_script_gives_its_characters_what_the_others_are_told_of_them(store: PostgresStore) -> None:
    told = f'{SETTING}[[agent]]\nname = "Pell"\nshort_description = "A ghost."\ngroup = "Dead"\n'
    told += '[[prompt]]\ntext = "Who is there?"\n'
    async with played(store, told) as session:
        assert session.snapshot.tab1.profiles == script(told).profiles
        assert session.snapshot.cast[Slot.GREEN].profile.short_description == "A ghost."
