"""From tab 1 to tab 2: asked once, saying what is locked and who reads it; cancelled, failed, retried."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Input, Static

from core.config.sections import AccountSettings, AgentSettings, Profiles, ProfileSettings, ProviderName
from core.config.settings import Settings
from core.domain.errors import ErrorCode
from core.domain.ids import RequestId
from core.domain.session.profile import Profile
from core.domain.session.session import PAUSED
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.engine.session.session_reader import SessionReader
from core.engine.sync.notifications import Notification, SessionChanged
from core.providers.scripted.script import Entry, Fault, Pace, Script, ScriptMatch
from storyengine_tui.screens.chapter.session_listener import SessionListener
from storyengine_tui.screens.models.model_screen import ModelScreen
from storyengine_tui.screens.models.permission.consent_modal import ConsentModal
from storyengine_tui.screens.setup.lock_modal import LockModal
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.busy_line import BusyLine
from tests.tui.engine_app import Desktop, make_draft, screen_text, until

pytestmark = pytest.mark.anyio
LOCK = ScriptMatch(schema="world_chapter_lock")


def state(app: StoryEngineApp) -> SessionState:
    assert app.session is not None
    return app.session.snapshot.session.state


async def ask(pilot: Pilot[Any]) -> LockModal:
    """Go to tab 2 and return the question."""
    await pilot.press("f3")
    await until(pilot, lambda: isinstance(pilot.app.screen, LockModal))
    assert isinstance(pilot.app.screen, LockModal)
    return pilot.app.screen


def lock_banner(app: StoryEngineApp) -> Banner:
    return app.chapter.query_one("#lock-banner", Banner)


async def test_enter_that_comes_twice_locks_once_and_asks_no_more_when_the_page_hears_late_of_it(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    hears, may_hear, handle = asyncio.Event(), asyncio.Event(), SessionListener._handle

    async def hear_late(listener: SessionListener, notification: Notification) -> None:
        if isinstance(notification, SessionChanged) and notification.session.state is SessionState.ACTIVE:
            hears.set()
            await may_hear.wait()
        await handle(listener, notification)

    monkeypatch.setattr(SessionListener, "_handle", hear_late)
    async with desktop.window(make_draft) as (pilot, app):
        await ask(pilot)
        await pilot.press("right")
        for _ in range(2):
            app.post_message(Key("enter", "\r"))
        await until(pilot, lambda: hears.is_set() and app.screen is app.chapter)
        await pilot.pause()
        assert app.screen is app.chapter
        assert app.chapter.active_tab == "play"
        may_hear.set()
        await until(pilot, lambda: "being played" in screen_text(app))
        assert "It is not possible" not in screen_text(app)


async def test_the_dialog_says_what_is_locked_and_who_reads_it_and_asks_only_once_by_key_or_click(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        # A click on the tab asks as the key does and cancel stays on tab 1.
        await pilot.click("#--content-tab-play")
        await until(pilot, lambda: isinstance(app.screen, LockModal))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        assert app.chapter.active_tab == "setup"
        assert state(app) is SessionState.DRAFT_TAB1
        # The dialog says what is locked and who reads it and asks only once.
        modal = await ask(pilot)
        text = str(modal.query_one("#consequences", Static).content)
        assert "the world, 23 characters" in text
        assert "3 characters: Mira, Jonas [/x], Agent Yellow" in text
        assert "Still without an identity: Agent Yellow." in text
        assert "by a script on this machine, in place of a model." in text
        await pilot.press("right", "enter")
        await until(pilot, lambda: app.chapter.active_tab == "play" and app.screen is app.chapter)
        assert state(app) is SessionState.ACTIVE
        await pilot.press("f2", "f3")
        assert app.screen is app.chapter


@pytest.mark.parametrize(
    ("empty", "edit"), [("world", Tab1Edit(world=" ")), ("chapter", Tab1Edit(chapter=""))]
)
async def test_the_dialog_says_which_text_is_empty_before_it_is_locked(
    desktop: Desktop, empty: str, edit: Tab1Edit
) -> None:
    async def make_half(engine: Engine) -> None:
        session = await engine.open(await make_draft(engine))
        await session.edits.edit_tab1(edit)
        await session.aclose()

    async with desktop.window(make_half) as (pilot, _):
        text = str((await ask(pilot)).query_one("#consequences", Static).content)
        assert f"the {empty}, empty\n" in text
        assert f"The {empty} is empty, and cannot be written once it is locked." in text
        assert text.count("empty, and") == 1, "the other one is written"


async def test_an_empty_set_up_is_refused_with_a_sentence(desktop: Desktop) -> None:
    async with desktop.window() as (pilot, app):
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        await pilot.press("f3")
        await until(pilot, lambda: lock_banner(app).is_shown)
        content = lock_banner(app).content
        assert content is not None
        assert content.sentence.startswith("Write a world or a chapter first")
        await pilot.press("x")
        await until(pilot, lambda: not lock_banner(app).is_shown)


async def test_a_lock_that_runs_or_is_being_stored_is_shown_and_can_be_cancelled(
    desktop: Desktop,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desktop.script = Script(pace=Pace(first_token=60))
    async with desktop.window(make_draft) as (pilot, app):
        # A lock that runs is shown and can be cancelled.
        modal = await ask(pilot)
        assert "right" in modal.active_bindings
        await pilot.press("right", "enter")
        await until(pilot, lambda: state(app) is SessionState.LOCKING)
        assert modal.query_one(BusyLine).is_busy
        assert "right" not in modal.active_bindings, "there is one answer, and nothing to choose"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter and lock_banner(app).is_shown)
        assert state(app) is SessionState.DRAFT_TAB1
        assert app.chapter.active_tab == "setup"
        # A lock that is cancelled while it is being stored does not come.
        assert app.session is not None
        lock, is_stored, may_answer = app.session.lock, asyncio.Event(), asyncio.Event()

        async def lock_slowly() -> RequestId:
            request_id = await lock()
            is_stored.set()
            await may_answer.wait()
            return request_id

        monkeypatch.setattr(app.session, "lock", lock_slowly)
        await ask(pilot)
        await pilot.press("right", "enter")
        await until(pilot, is_stored.is_set)
        await pilot.press("escape")
        may_answer.set()
        await until(pilot, lambda: app.screen is app.chapter and state(app) is SessionState.DRAFT_TAB1)


@pytest.mark.parametrize(
    ("provider", "sentences"),
    [
        ("scripted", {100.0: "tab 2 opens. Last time it took 1:40.", None: "tab 2 opens."}),
        (
            "local",
            {
                0.2: "tab 2 opens.",
                None: "tab 2 opens. On this machine it can take a few minutes the first time.",
            },
        ),
    ],
)
async def test_a_running_lock_says_how_long_it_took_last_time_and_invents_no_number(
    desktop: Desktop,
    monkeypatch: pytest.MonkeyPatch,
    provider: ProviderName,
    sentences: dict[float | None, str],
) -> None:
    asked: list[tuple[int, str]] = []
    took: list[float | None] = []

    async def last(_: SessionReader, agent_id: int, model: str) -> float | None:
        asked.append((agent_id, model))
        return took[-1]

    async def none_are(*_: object) -> bool:
        return False

    monkeypatch.setattr(SessionReader, "last_duration", last)
    monkeypatch.setattr("storyengine_tui.screens.models.permission.local_weights.are_missing", none_are)
    desktop.script = Script(pace=Pace(first_token=60))
    desktop.settings = Settings(provider=provider, _env_file=None)
    async with desktop.window(make_draft) as (pilot, app):
        for seconds, sentence in sentences.items():
            took.append(seconds)
            text = (await ask(pilot)).query_one("#consequences", Static)
            await pilot.press("right", "enter")
            await until(pilot, lambda: asked and str(text.content).endswith(sentence))  # noqa: B023
            assert asked == [(0, "smollm2-135m-instruct" if provider == "local" else "o4-mini")]
            asked.clear()
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.chapter and lock_banner(app).is_shown)


async def test_a_failed_lock_returns_to_the_draft_with_the_reason_and_retry(desktop: Desktop) -> None:
    desktop.script = Script(reply=(Entry(match=LOCK, fault=Fault.AUTH, times=1),))
    async with desktop.window(make_draft) as (pilot, app):
        await ask(pilot)
        await pilot.press("right", "enter")
        await until(pilot, lambda: app.screen is app.chapter and lock_banner(app).is_shown)
        content = lock_banner(app).content
        assert content is not None
        assert content.sentence == ErrorCode.LLM_AUTH_ERROR.sentence
        await pilot.press("ctrl+end", "!")
        assert lock_banner(app).is_shown
        await pilot.press("ctrl+r")
        await until(pilot, lambda: app.chapter.active_tab == "play")
        assert app.session is not None
        assert app.session.snapshot.tab1.world.endswith("rock.!")


@pytest.fixture
def remote(desktop: Desktop) -> Desktop:
    desktop.settings = Settings(provider="openai", base_url="https://models.example/v1", _env_file=None)
    return desktop


async def test_consent_is_asked_with_address_and_what_is_sent_before_anything_is(remote: Desktop) -> None:
    async with remote.window(make_draft) as (pilot, app):
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, ConsentModal))
        assert str(app.screen.query_one("#address", Static).content) == "https://models.example/v1"
        await until(pilot, lambda: "is set" in str(app.screen.query_one("#key", Static).content))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.chapter)
        assert state(app) is SessionState.DRAFT_TAB1
        assert not app.configuration.consent.granted()
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, ConsentModal))
        await pilot.press("tab", "enter")
        await until(pilot, lambda: isinstance(app.screen, LockModal))
        assert app.configuration.consent.granted() == {"https://models.example/v1"}
        text = str(app.screen.query_one("#consequences", Static).content)
        assert "o4-mini at https://models.example/v1" in text
        assert "Called there: o4-mini (world and chapter, characters, memory), gpt-5.2 (narrative)." in text


async def test_consent_and_lock_name_the_model_that_a_character_has_of_its_own(remote: Desktop) -> None:
    own = {slot: AgentSettings(model=model) for slot, model in ((2, "big"), (7, "not-in-this-chapter"))}
    profile = ProfileSettings(provider="openai", base_url="https://models.example/v1", characters=own)
    remote.settings = Settings(profiles=Profiles(local=profile), _env_file=None)
    async with remote.window(make_draft, size=(80, 22)) as (pilot, app):
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, ConsentModal))
        consent = str(app.screen.query_one("#called", Static).content)
        assert "o4-mini (world and chapter, the other characters, memory)" in consent
        assert "big (character 2 Orange), not-in-this-chapter (character 7 Violet)" in consent
        assert "storyengine consent revoke." not in screen_text(app)
        await pilot.press("pagedown")
        assert "storyengine consent revoke." in screen_text(app), "a long text is read by keyboard alone"
        await pilot.press("tab", "enter")
        await until(pilot, lambda: isinstance(app.screen, LockModal))
        lock = str(app.screen.query_one("#consequences", Static).content)
        assert "memory), big (Jonas [/x]), gpt-5.2 (narrative)." in lock


async def test_consent_names_the_key_that_goes_along_and_never_shows_it(
    remote: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORYENGINE_API_KEY", "sk-not-to-be-seen")
    remote.settings = Settings(provider="openai", base_url="https://models.example/v1", _env_file=None)
    async with remote.window(make_draft) as (pilot, app):
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, ConsentModal))
        line = app.screen.query_one("#key", Static)
        await until(pilot, lambda: "STORYENGINE_API_KEY" in str(line.content))
        assert "The key that is sent with it" in str(line.content)
        assert "sk-not" not in app.export_screenshot()


async def test_the_dialog_says_who_sees_which_group_and_who_is_paused(desktop: Desktop) -> None:
    async def make(engine: Engine) -> None:
        session = await engine.open(await make_draft(engine))
        characters = engine.library.characters
        mira = replace((await characters.create("Mira")).profile, group="Harbour [/x]", groups_visible=())
        await characters.pause(await characters.find("Mira"))
        await session.edits.edit_tab1(Tab1Edit(profiles={Slot.RED: mira}))
        await session.aclose()

    async with desktop.window(make) as (pilot, app):
        modal = await ask(pilot)
        consequences = modal.query_one("#consequences", Static)
        await until(pilot, lambda: "paused in the library: Mira." in str(consequences.content))
        lines = str(consequences.content).splitlines()
        assert "  • General: Jonas [/x], Agent Yellow" in lines
        assert "  • Harbour [/x]: Mira" in lines
        await pilot.press("right", "enter")
        await until(pilot, lambda: state(app) is SessionState.ACTIVE)
        assert app.session is not None
        assert app.session.snapshot.session.away == {Slot.RED: PAUSED}


async def make_models_of_the_library(engine: Engine) -> None:
    session = await engine.open(await make_draft(engine))
    brought = {Slot.RED: Profile(model="near:big"), Slot.ORANGE: Profile(model="gone:big [/x]")}
    await session.edits.edit_tab1(Tab1Edit(profiles=brought))
    await session.aclose()


async def test_lock_and_f6_say_which_model_of_the_library_plays_and_which_cannot(desktop: Desktop) -> None:
    near = AccountSettings(base_url="http://127.0.0.1:8/v1")
    desktop.settings = Settings(
        provider="openai", base_url="http://127.0.0.1:9/v1", accounts={"near": near}, _env_file=None
    )
    gone = "Jonas [/x] is meant for gone:big [/x], but there is no account “gone” here: "
    async with desktop.window(make_models_of_the_library) as (pilot, app):
        modal = await ask(pilot)
        lines = str(modal.query_one("#consequences", Static).content).splitlines()
        assert "Mira is played by near:big, as the library has it." in lines
        assert f"{gone}the model of its slot answers." in lines
        assert "Called at http://127.0.0.1:8/v1: near:big (Mira)." in lines
        await pilot.press("escape", "f6")
        await until(pilot, lambda: isinstance(app.screen, ModelScreen))
        fields = [app.screen.query_one(f"#model-slot-{slot}", Input) for slot in (1, 2)]
        assert [field.placeholder for field in fields] == [
            "near:big (from the library)",
            "o4-mini (as all)",
        ]
        note = app.screen.query_one("#model-note", Static)
        assert str(note.content) == f"{gone}the model of its slot answers."
        fields[0].value = "mine"
        await until(pilot, lambda: "but F6 sets mine for its slot" in str(note.content))


async def test_without_a_model_of_the_library_lock_and_f6_say_nothing_of_it(desktop: Desktop) -> None:
    desktop.settings = Settings(provider="openai", base_url="http://127.0.0.1:9/v1", _env_file=None)
    async with desktop.window(make_draft) as (pilot, app):
        modal = await ask(pilot)
        assert "library" not in str(modal.query_one("#consequences", Static).content)
        await pilot.press("escape", "f6")
        await until(pilot, lambda: isinstance(app.screen, ModelScreen))
        assert "library" not in screen_text(app)
        assert not app.screen.query_one("#model-note").display
