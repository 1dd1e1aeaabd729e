"""The headless player: on from wherever a session stands, patient with what passes, and nothing else."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.save_point import content_of
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.scripts.player import ScriptMismatchError, ScriptPlayer, Step
from core.exchange.scripts.chapter_script import ChapterScript, load_chapter_script
from core.providers.scripted.script import Fault, Script
from db.store import PostgresStore
from tests.e2e.program import chapter_script
from tests.engine.windows import MATCHES, Recorder, done, engine_on, failing, play, scripted, set_up, window

pytestmark = pytest.mark.anyio


def script_of(tmp_path: Path, prompts: int) -> ChapterScript:
    file = tmp_path / f"{tmp_path.name}.toml"
    file.write_text(chapter_script(str(tmp_path), prompts))
    return load_chapter_script(file)


async def test_a_passing_failure_of_each_kind_is_retried_and_the_chapter_is_written(
    store: PostgresStore, tmp_path: Path
) -> None:
    provider = scripted(*(failing(kind, Fault.SERVER_ERROR) for kind in MATCHES))
    steps: list[Step] = []
    async with window(store, provider) as session:
        await ScriptPlayer(session, script_of(tmp_path, 2), steps.append, retry_wait=0.0).play()
        assert session.snapshot.draft_count == 1
    assert steps[-1].done == steps[-1].total
    assert [step.done for step in steps] == sorted(step.done for step in steps)


async def test_a_failure_that_does_not_pass_stops_the_play_at_once_with_everything_stored(
    store: PostgresStore, tmp_path: Path
) -> None:
    model = Recorder(Script(reply=(failing(RequestKind.REPLY, Fault.AUTH, times=None),)))
    async with window(store, model) as session:
        with pytest.raises(StoryEngineError, match="refused the key") as stopped:
            await ScriptPlayer(session, script_of(tmp_path, 2), lambda _: None, retry_wait=0.0).play()
        assert stopped.value.code is ErrorCode.LLM_AUTH_ERROR
        assert len([call for call in model.calls if call.schema is None]) == 1
        assert session.snapshot.session.state is SessionState.ACTIVE


async def test_a_summary_that_is_due_again_at_the_instant_of_the_end_goes_before_it(
    store: PostgresStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = scripted(failing(RequestKind.SUMMARY, Fault.TIME_OUT))
    async with window(store, provider) as session:
        end_chapter, ends = session.end_chapter, 0

        async def end_a_moment_later() -> None:
            nonlocal ends
            ends += 1
            for request in session.snapshot.requests:  # as the worker does when the back-off is over
                await session.retry(request.id)
            await end_chapter()

        monkeypatch.setattr(session, "end_chapter", end_a_moment_later)
        await ScriptPlayer(session, script_of(tmp_path, 8), lambda _: None, retry_wait=0.0).play()
        assert ends == 2
        assert session.snapshot.draft_count == 1
        blocks = [(block.first, block.last) for block in await session.reads.memory_blocks()]
        assert blocks == [(0, 0), (1, 7), (8, 8)]


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        (RequestKind.REPLY, Fault.RATE_LIMITED),
        (RequestKind.SUMMARY, Fault.RATE_LIMITED),
        (RequestKind.SUMMARY, Fault.SERVER_ERROR),
    ],
)
async def test_a_service_that_asks_for_time_is_given_it_for_the_last_summary_too(
    store: PostgresStore, tmp_path: Path, kind: RequestKind, fault: Fault
) -> None:
    provider = scripted(failing(kind, fault, retry_after=0.4))
    async with window(store, provider, backoff=0.001) as session:
        player = ScriptPlayer(session, script_of(tmp_path, 1), lambda _: None, retry_wait=0.0)
        began = asyncio.get_running_loop().time()
        await player.play()
        assert asyncio.get_running_loop().time() - began >= 0.4


@pytest.mark.parametrize("kind", [RequestKind.REPLY, RequestKind.SUMMARY])
async def test_a_service_that_asks_for_an_hour_stops_the_play_and_is_not_asked_before(
    store: PostgresStore, tmp_path: Path, kind: RequestKind
) -> None:
    entry = failing(kind, Fault.RATE_LIMITED, retry_after=3600.0, times=None)
    model = Recorder(Script(reply=(entry,)))
    async with window(store, model) as session:
        with pytest.raises(StoryEngineError, match="run the same command") as stopped:
            await ScriptPlayer(session, script_of(tmp_path, 1), lambda _: None, retry_wait=0.0).play()
        assert stopped.value.code is ErrorCode.LLM_RATE_LIMITED
        assert len(model.calls) == (2 if kind is RequestKind.REPLY else 3)  # the lock, the reply, the summary


async def test_a_summary_that_was_told_to_wait_before_the_end_is_not_asked_again_at_the_end(
    store: PostgresStore, tmp_path: Path
) -> None:
    model = Recorder(
        Script(reply=(failing(RequestKind.SUMMARY, Fault.RATE_LIMITED, retry_after=3600.0, times=None),))
    )
    async with window(store, model) as session:
        with pytest.raises(StoryEngineError, match="run the same command"):
            await ScriptPlayer(session, script_of(tmp_path, 7), lambda _: None, retry_wait=0.0).play()
        assert len(model.calls) == 9, "the lock, seven replies, one summary"


async def test_how_the_chapter_is_told_may_be_changed_until_it_is(
    store: PostgresStore, tmp_path: Path
) -> None:
    script = script_of(tmp_path, 1)
    provider = scripted(failing(RequestKind.NARRATIVE, Fault.AUTH))
    async with window(store, provider) as session:
        with pytest.raises(StoryEngineError, match="refused the key"):
            await ScriptPlayer(session, script, lambda _: None, retry_wait=0.0).play()
        changed = replace(script, definition="In letters.", target_words=70)
        await ScriptPlayer(session, changed, lambda _: None, retry_wait=0.0).play()
        [draft] = await store.drafts(session.id)
        assert (draft.definition, draft.target_words) == ("In letters.", 70)


async def test_what_was_written_in_the_screen_after_a_lock_that_failed_is_kept_before_the_script_goes_on(
    store: PostgresStore, tmp_path: Path
) -> None:
    script = script_of(tmp_path, 1)
    async with window(store, scripted(failing(RequestKind.LOCK, Fault.AUTH, times=2))) as session:
        for _ in range(2):
            with pytest.raises(StoryEngineError, match="refused the key"):
                await ScriptPlayer(session, script, lambda _: None, retry_wait=0.0).play()
        assert await store.save_points.listed(session.id) == [], "its own words are in the file"
        await session.edits.edit_tab1(Tab1Edit(world="An hour's work, typed in the screen."))
        await ScriptPlayer(session, script, lambda _: None, retry_wait=0.0).play()
        first = (await store.save_points.listed(session.id))[0]
    assert first.label == "before the script was played again"
    assert content_of(first).tab1.world == "An hour's work, typed in the screen."
    assert session.snapshot.tab1.world == script.world


async def test_a_script_without_prompts_sets_up_a_chapter_and_says_what_is_missing(
    store: PostgresStore, tmp_path: Path
) -> None:
    script = replace(script_of(tmp_path, 1), prompts=())
    async with window(store) as session:
        with pytest.raises(StoryEngineError, match="no prompt to play yet"):
            await ScriptPlayer(session, script, lambda _: None).play()
        assert session.snapshot.session.state is SessionState.ACTIVE
        await ScriptPlayer(session, script_of(tmp_path, 1), lambda _: None).play()
        assert session.snapshot.draft_count == 1


async def test_a_script_goes_on_in_its_own_session_and_only_there(
    store: PostgresStore, tmp_path: Path
) -> None:
    script = script_of(tmp_path, 1)
    engine = engine_on(store)
    first, is_new = await engine.find_or_create(script.key)
    assert is_new
    assert await engine.find_or_create(script.key) == (first, False)
    await engine.archive(first)
    second, is_new = await engine.find_or_create(script.key)
    assert is_new
    assert second != first


async def test_what_waits_in_a_composer_is_left_alone(store: PostgresStore, tmp_path: Path) -> None:
    async with window(store) as session:
        await session.edits.save_unsent(Slot.RED, "The GM's own idea")
        await ScriptPlayer(session, script_of(tmp_path, 3), lambda _: None).play()
        assert session.snapshot.unsent == {Slot.RED: "The GM's own idea"}


async def test_a_session_that_was_played_otherwise_is_not_touched(
    store: PostgresStore, tmp_path: Path
) -> None:
    script = script_of(tmp_path, 1)
    async with window(store) as session:
        await ScriptPlayer(session, script, lambda _: None).play()
        longer = replace(script, prompts=script.prompts * 2)
        with pytest.raises(ScriptMismatchError, match="was ended after prompt 1, and the script has 2"):
            await ScriptPlayer(session, longer, lambda _: None).play()
        to_another = replace(script, prompts=(replace(script.prompts[0], slot=Slot.VIOLET),))
        with pytest.raises(ScriptMismatchError, match="Prompt 1 of the script was played to"):
            await ScriptPlayer(session, to_another, lambda _: None).play()
    async with window(store) as other:
        await set_up(other)
        await done(other, await other.lock())
        await play(other, 1)
        before = other.snapshot
        with pytest.raises(ScriptMismatchError, match="Prompt 1 of the script is not what was played"):
            await ScriptPlayer(other, script, lambda _: None).play()
        await done(other, await other.submit_prompt(Slot.RED, "More than the script has"))
        with pytest.raises(ScriptMismatchError, match="The chapter has 2 prompts and the script only 1"):
            await ScriptPlayer(other, script, lambda _: None).play()
        assert before.session.prompt_index == 1
