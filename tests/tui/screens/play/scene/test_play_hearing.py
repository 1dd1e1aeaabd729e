"""Tab 2: who hears what the GM sends (design 13)."""

import asyncio
from dataclasses import replace
from functools import partialmethod
from typing import Any

import pytest
from textual.widgets import Button

from core.context.visibility import names_of
from core.domain.audience import EVERYONE, NOBODY, Audience
from core.domain.errors import IllegalCommandError
from core.domain.ids import RequestId
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.engine.session.session_handle import SessionHandle
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from storyengine_tui.screens.calls.inputs.call_rows import segments_of
from storyengine_tui.screens.play.composer.composer import hearers_as_text, read_hearers
from storyengine_tui.screens.play.scene.hearing_view import choice_of, hearers_text, mark_of, narrower
from storyengine_tui.screens.play.scene.slot_modals import HearersModal
from storyengine_tui.widgets.fields.slot_checks import SlotChecks
from tests.store.in_memory.memory_calls import MemoryCalls
from tests.store.in_memory.memory_store import MemoryStore
from tests.tui.chapters import chapter
from tests.tui.engine_app import Desktop, opened
from tests.tui.rooms.play_table import SCRIPT, Gate, Table, at_table, at_window
from tests.tui.rooms.play_table import gate as gate

pytestmark = pytest.mark.anyio

RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW
RED_AND_YELLOW = Audience.of({RED, YELLOW})


async def choose(table: Table, *keys: str) -> None:
    """Press Ctrl+L, then these keys in the list, and wait until it has closed."""
    await table.choose("ctrl+l", HearersModal, *keys)


async def audience_of_prompt(table: Table, index: int) -> Audience:
    return next(event.audience for event in await table.events() if event.prompt_index == index)


async def test_a_chapter_that_uses_no_audiences_reads_the_story_once_and_says_nothing_about_them(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []

    async def count(self: object, name: str, read: Any, *arguments: object, **options: object) -> object:
        reads.append(name)
        return await read(self, *arguments, **options)

    def counted(part: type, *names: str) -> None:
        for name in names:
            monkeypatch.setattr(part, name, partialmethod(count, name, getattr(part, name)))

    async with at_table(desktop, prompts=1) as table:
        counted(MemoryStore, "newest_canon", "canon", "memory", "load")
        counted(MemoryCalls, "artifacts", "requests")
        await table.pane.on_session_attached()
        assert reads == ["newest_canon", "canon"], "the store in memory makes the one of the other"
        reads.clear()
        await table.play("Who is there?")
        assert reads == ["memory"], "the engine needs memory for its first call, and the screen nothing"
        assert [one.agent_id for one in await table.session.reads.artifacts()] == [0, 1, 2]
        # It says nothing about audiences, and offers no key for marks.
        titles = [table.title(area.slot) for area in table.composer]
        assert titles == [r"To 1 Mira", r"To 2 Jonas \[/x]", r"To 3 Agent Yellow"]
        assert "⟨" not in table.transcript.text
        assert not table.pane.query_one("#viewpoint").children
        table.transcript.focus()
        await table.pilot.press("ctrl+a")
        assert table.transcript.check_action("copy", ()) is True
        assert table.transcript.check_action("copy_marked", ()) is False


async def test_who_hears_one_prompt_is_chosen_in_the_list_by_keys_and_buttons_and_esc_changes_nothing(
    desktop: Desktop,
) -> None:
    async with at_table(desktop) as table:
        await choose(table, "space", "escape")
        assert table.title() == "To 1 Mira"
        assert table.area(RED).heard_by is None
        await choose(table, "down", "space", "p")
        assert table.title() == "To 1 Mira · Mira, Agent Yellow"
        await table.send("Listen.")
        await table.until(lambda: table.played(1))
        assert await audience_of_prompt(table, 1) == RED_AND_YELLOW
        assert table.stored.present.is_everyone
        # A whisper is said on the panel and is for one prompt.
        await table.pilot.press("alt+1")
        await table.type("Psst.")
        await choose(table, "w")
        assert table.title() == "To 1 Mira · whisper"
        assert table.title(ORANGE) == r"To 2 Jonas \[/x] · heard by all"
        assert table.text(RED) == "Psst."
        await table.pilot.press("enter")
        await table.until(lambda: table.played(2))
        assert await audience_of_prompt(table, 2) == Audience.of({RED})
        assert table.title(RED) == "To 1 Mira · heard by all"
        assert table.area(RED).heard_by is None
        # The buttons of the list do what its keys do.
        await table.pilot.press("alt+1")
        for button, said in (("Whisper", "whisper"), ("This prompt", "Mira, Agent Yellow")):
            await table.pilot.press("ctrl+l")
            await table.until(lambda: isinstance(table.app.screen, HearersModal))
            dialog = table.app.screen
            dialog.query_one(SlotChecks).tick_only({RED, YELLOW})
            next(one for one in dialog.query(Button) if str(one.label) == button).press()
            await table.until(lambda said=said: table.title() == f"To 1 Mira · {said}")


async def test_who_is_in_the_scene_from_now_on_is_stored_and_the_next_panel_is_of_one_of_them(
    desktop: Desktop,
) -> None:
    async with at_table(desktop) as table:
        await choose(table, "down", "space", "n")
        await table.until(lambda: table.stored.present == RED_AND_YELLOW)
        await table.until(lambda: table.title() == "To 1 Mira · Mira, Agent Yellow")
        assert table.title(ORANGE).endswith("· heard by all"), "with the one addressed they are all there are"
        await table.send("Now we are two.")
        assert table.slot() is YELLOW
        await table.until(lambda: table.played(1))
        assert await audience_of_prompt(table, 1) == RED_AND_YELLOW
        assert table.slot() is YELLOW
        await table.pilot.press("ctrl+n")
        assert table.slot() is RED
        await table.pilot.press("ctrl+n")
        assert table.slot() is ORANGE, "the GM can write to anybody"


async def test_after_a_reply_that_failed_a_prompt_is_heard_by_those_that_its_panel_says(
    desktop: Desktop,
) -> None:
    fails = (ScriptMatch(schema="text", last=f"FAIL {number}") for number in (1, 2, 3))
    faults = (Entry(match=match, fault=Fault.SERVER_ERROR, times=1) for match in fails)
    desktop.script = Script(reply=(*faults, *SCRIPT.reply[1:]))
    async with at_table(desktop) as table:
        # A whisper survives a reply that failed.
        await table.type("FAIL 1")
        await choose(table, "w")
        await table.pilot.press("enter")
        await table.until(table.banner)
        assert table.text(RED) == "FAIL 1"
        assert table.title(RED) == "To 1 Mira · whisper"
        await table.pilot.press("ctrl+r")
        await table.until(lambda: table.played(1))
        assert await audience_of_prompt(table, 1) == Audience.of({RED})
        assert table.title(RED) == "To 1 Mira · heard by all"
        # A failed whisper that is edited stays a whisper.
        await table.pilot.press("alt+1")
        await table.type("FAIL 2")
        await choose(table, "w")
        await table.pilot.press("enter")
        await table.until(table.banner)
        await table.pilot.press("alt+1")
        await table.send(" not")
        await table.until(lambda: table.played(2))
        assert await audience_of_prompt(table, 2) == Audience.of({RED})
        # A failed prompt is heard by those that its panel says now.
        await table.pilot.press("alt+1")
        await table.send("FAIL 3")
        await table.until(table.banner)
        await table.pilot.press("alt+1")
        await choose(table, "w")
        await table.pilot.press("ctrl+r")
        await table.until(lambda: table.played(3))
        assert await audience_of_prompt(table, 3) == Audience.of({RED})


async def test_a_whisper_that_returns_to_a_panel_with_text_makes_all_of_it_a_whisper(
    desktop: Desktop, gate: Gate
) -> None:
    async with at_table(desktop) as table:
        await table.type("HOLD me")
        await choose(table, "w")
        await table.pilot.press("enter", "alt+1")
        await table.until(lambda: table.is_streaming)
        await table.type("for all")
        assert table.title(RED) == "To 1 Mira · heard by all"
        await table.pilot.press("escape")
        await table.until(table.banner)
        assert table.text(RED) == "HOLD me\n\nfor all"
        assert table.title(RED) == "To 1 Mira · whisper"


async def test_a_prompt_for_all_that_returns_to_a_panel_with_a_whisper_makes_all_of_it_a_whisper(
    desktop: Desktop, gate: Gate
) -> None:
    async with at_table(desktop) as table:
        await table.send("HOLD me")
        await table.pilot.press("alt+1")
        await table.until(lambda: table.is_streaming)
        await table.type("psst")
        await choose(table, "w")
        await table.pilot.press("escape")
        await table.until(table.banner)
        assert table.text(RED) == "HOLD me\n\npsst"
        assert table.title(RED) == "To 1 Mira · whisper"


async def test_a_whisper_that_was_stopped_is_a_whisper_when_the_chapter_opens_again(
    desktop: Desktop, gate: Gate
) -> None:
    async with at_table(desktop) as table:
        await table.type("HOLD me")
        await choose(table, "w")
        await table.pilot.press("enter")
        await table.until(lambda: table.is_streaming)
        await table.pilot.press("escape")
        await table.until(table.banner)
    async with at_table(desktop, prompts=None) as table:
        assert table.text(RED) == "HOLD me"
        assert table.title(RED) == "To 1 Mira · whisper"


async def test_a_failed_prompt_becomes_one_whisper_where_the_retry_key_comes_twice(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit, may_store, sent = SessionHandle.submit_prompt, asyncio.Event(), list[object]()

    async def slow(session: SessionHandle, *texts: Any, **how: Any) -> RequestId:
        sent.append((texts, how["heard_by"]))
        await may_store.wait()
        return await submit(session, *texts, **how)

    async def retried(_: SessionHandle, request_id: RequestId) -> None:
        sent.append(request_id)

    async with at_table(desktop) as table:
        await table.send("FAIL")
        await table.until(table.banner)
        await choose(table, "w")
        monkeypatch.setattr(SessionHandle, "submit_prompt", slow)
        monkeypatch.setattr(SessionHandle, "retry", retried)
        for _ in range(2):
            await table.pane.run_action("retry")
        await table.until(lambda: sent)
        may_store.set()
        await table.until(lambda: table.snapshot.open_prompts or table.played(1))
        await table.session.wait_idle()
        assert sent == [((RED, "FAIL"), NOBODY)]


async def test_a_whisper_that_was_not_sent_is_one_after_a_restart(desktop: Desktop) -> None:
    async with at_window(desktop) as table:
        await table.type("psst")
        await choose(table, "w")
        await table.pilot.press("alt+2")
        await choose(table, "down", "space", "p")
    app = desktop.app()
    async with app.run_test(size=(100, 30)) as pilot:
        again = Table(pilot, await opened(pilot))
        await again.until(lambda: again.text(RED) == "psst")
        await again.until(lambda: again.title(RED) == "To 1 Mira · whisper")
        assert again.area(ORANGE).heard_by is None, "without a text there is nothing to keep it for"
        await again.pilot.press("alt+1", "enter")
        await again.until(lambda: again.played(1))
        assert await audience_of_prompt(again, 1) == Audience.of({RED})
        assert not list(desktop.paths.data.glob("hearers-*"))
        await app.close_everything()


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"9": [1]}', '{"1": 2}', '{"1": [true, null]}', "[" * 100_000]
)
def test_kept_choices_that_cannot_be_read_are_none(text: str) -> None:
    assert read_hearers(text) == {}


def test_kept_choices_are_read_as_they_were() -> None:
    chosen = {RED: NOBODY, ORANGE: RED_AND_YELLOW, YELLOW: EVERYONE}
    assert read_hearers(hearers_as_text(chosen)) == chosen
    assert hearers_as_text({}) == ""


async def test_a_queued_whisper_that_is_taken_back_is_one_again(desktop: Desktop, gate: Gate) -> None:
    async with at_table(desktop) as table:
        await table.begin("HOLD on")
        await table.type("psst")
        await choose(table, "w")
        await table.pilot.press("enter")
        await table.until(lambda: table.queued)
        await table.pilot.press("ctrl+t")
        await table.until(lambda: table.text(ORANGE) == "psst")
        assert table.title(ORANGE) == r"To 2 Jonas \[/x] · whisper"
        gate.open()
        await table.until(lambda: table.played(1))


async def test_a_whisper_is_one_after_it_was_undone_moved_to_another_panel_or_not_stored(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_table(desktop) as table:
        await table.type("psst")
        await choose(table, "w")
        await table.pilot.press("enter")
        await table.until(lambda: table.played(1))
        await table.pilot.press("ctrl+o")
        await table.until(lambda: table.text(RED) == "psst")
        assert table.title(RED) == "To 1 Mira · whisper"
        table.pane.takes.action_redo()
        await table.until(lambda: table.text(RED) == "")
        assert table.title(RED) == "To 1 Mira · heard by all"
        # A whispered draft that is moved is whispered to the other.
        await table.pilot.press("alt+1")
        await table.type("psst")
        await choose(table, "w")
        table.pane.takes.action_move_text(2)
        assert table.title() == r"To 2 Jonas \[/x] · whisper"
        await table.pilot.press("enter")
        await table.until(lambda: table.played(2))
        assert await audience_of_prompt(table, 2) == Audience.of({ORANGE})

        # A whisper that is not stored returns as one.
        async def refuse(*_: object, **__: object) -> None:
            raise IllegalCommandError("Not now.")

        monkeypatch.setattr(table.session, "submit_prompt", refuse)
        await table.pilot.press("alt+1")
        await table.type("psst")
        await choose(table, "w")
        await table.pilot.press("enter")
        await table.until(table.trouble)
        assert table.text(RED) == "psst"
        assert table.title(RED) == "To 1 Mira · whisper"


async def test_the_transcript_marks_what_not_everyone_heard(desktop: Desktop, gate: Gate) -> None:
    async with at_table(desktop) as table:
        await choose(table, "down", "space", "p")
        await table.send("HOLD on")
        await table.until(lambda: table.is_streaming and "I" in table.transcript.text)
        assert table.transcript.text.startswith(
            "⟨Mira, Agent Yellow⟩ 1) HOLD on\n\n⟨Mira, Agent Yellow⟩ Mira: "
        )
        gate.open()
        await table.until(lambda: table.played(1))
        assert table.transcript.text == (
            "⟨Mira, Agent Yellow⟩ 1) HOLD on\n\n⟨Mira, Agent Yellow⟩ Mira: I hold on. Then I let go."
        )
        await table.play("And all of you?")
        assert "\n\n2) And all of you?\n\n" in table.transcript.text


async def test_marks_are_copied_only_by_their_own_key_and_models_and_the_counter_know_nothing_of_them(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[str] = []
    async with at_table(desktop) as table:
        monkeypatch.setattr(table.app, "copy_to_clipboard", copied.append)
        await choose(table, "w")
        await table.send("Psst")
        await table.until(lambda: table.played(1))
        table.transcript.focus()
        await table.pilot.press("ctrl+a", "c", "m")
        await table.until(lambda: len(copied) == 2)
        assert copied == ["1) Psst\n\nMira: I see.", "⟨Mira⟩ 1) Psst\n\n⟨Mira⟩ Mira: I see."]
        # Models and the counter know nothing of marks.
        table.area(table.slot()).focus()
        assert table.counter == "21/60,000"
        await table.play("And you?")
        reads = table.session.reads
        manifests = dict(await reads.contents([one.input_ref for one in await reads.artifacts()]))
        parts = [part.hash for manifest in manifests.values() for part in segments_of(manifest)]
        sent = dict(await reads.contents(parts))
        assert any("Psst" in text for text in sent.values())
        assert not any("⟨" in text for text in sent.values())


def _session() -> Session:
    names = {RED: "[b]A[/b]", ORANGE: "B\x1b[31m ]", YELLOW: "C"}
    return replace(chapter.session(1), slots=(RED, ORANGE, YELLOW), names=names)


def test_who_hears_is_said_in_words() -> None:
    session = _session()
    assert hearers_text(session, RED, None) == "heard by all"
    assert hearers_text(session, RED, NOBODY) == "whisper"
    assert hearers_text(session, RED, Audience.of({YELLOW})) == "[b]A[/b], C"
    many = replace(session, slots=tuple(Slot))
    assert hearers_text(many, RED, Audience.of({ORANGE, YELLOW})) == "[b]A[/b], B ], C"
    assert hearers_text(many, RED, Audience.of(set(Slot) - {YELLOW})) == "all but C"
    assert mark_of(EVERYONE, session) == ""
    assert mark_of(NOBODY, session) == f"⟨{names_of(NOBODY, session)}⟩ "
    assert mark_of(Audience.of({ORANGE}), session) == "⟨B ]⟩ "


def test_a_choice_is_kept_without_the_one_addressed_and_two_are_made_narrower() -> None:
    session = _session()
    assert choice_of(session, RED, EVERYONE) is None
    assert choice_of(session, RED, RED_AND_YELLOW) == Audience.of({YELLOW})
    assert choice_of(session, RED, Audience.of({RED})) == NOBODY
    assert narrower(session, RED, None, None) is None
    assert narrower(session, RED, None, NOBODY) == NOBODY
    assert narrower(session, RED, Audience.of({YELLOW}), Audience.of({ORANGE})) == NOBODY
