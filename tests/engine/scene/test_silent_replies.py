"""Characters that act without words or say nothing, on a real database (design 17)."""

import pytest

from core.config.models.assignments import defaults_for
from core.domain.audience import EVERYONE, NOBODY, Audience
from core.domain.clock import utc_now
from core.domain.errors import ErrorCode, IllegalCommandError
from core.domain.requests.request_kinds import RequestKind
from core.domain.slot import Slot
from core.domain.story.event import Event, Manner
from core.domain.story.silence import SAYS_NOTHING
from core.domain.story.transcript import render_all, render_events
from core.engine.catalog import SessionCatalog
from core.engine.kinds.speaking.reply import REASON_NOTE
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import TextArrived
from core.exchange.session_copy import as_new_session
from core.exchange.session_export import from_json, read_body, to_json
from core.providers.scripted.script import Entry, Fault, Script, ScriptMatch
from db.store import PostgresStore
from tests.engine.windows import MATCHES, GatedModel, Recorder, chapter, done, failing, listening, scripted

pytestmark = pytest.mark.anyio
RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW
CANARY = "She fears Kara's canary."
SILENT = f"[silent]\n[why] {CANARY}"


def replies(*texts: str) -> Recorder:
    """A model whose replies are these, one after the other, and everything that it was sent."""
    wanted = ScriptMatch.model_validate(MATCHES[RequestKind.REPLY])
    entries = [Entry(match=wanted, text=text, calls=(n,)) for n, text in enumerate(texts, start=1)]
    return Recorder(Script(reply=tuple(entries)))


async def say(session: SessionHandle, slot: Slot, text: str) -> Event:
    await done(session, await session.submit_prompt(slot, text))
    await session.wait_idle()
    return session.snapshot.recent[-1]


def sent(model: Recorder) -> str:
    return "\n".join(message.content for call in model.calls for message in call.messages)


async def test_a_silent_reply_is_one_line_of_the_story_and_its_reason_is_for_the_gm(
    store: PostgresStore,
) -> None:
    model = replies(SILENT, "[action] turns the lamp down", "I see it.")
    async with chapter(store, model, chunk_size=3) as session:
        await session.scene.set_silence(EVERYONE)
        silent = await say(session, RED, "Who rang the bell?")
        assert (silent.text, silent.is_silent, silent.reason) == (SAYS_NOTHING, True, CANARY)
        acted = await say(session, ORANGE, "And you?")
        assert (acted.text, acted.metadata["manner"]) == ("*turns the lamp down*", Manner.ACTION)
        spoken = await say(session, YELLOW, "And you?")
        assert spoken.text == "I see it."
        assert spoken.metadata.keys() == {"request_id"}
        assert render_events(await session.reads.canon(), session.snapshot.session) == (
            "1) Who rang the bell?\n\nAgent Red says nothing.\n\n2) And you?\n\n"
            "Agent Orange: *turns the lamp down*\n\n3) And you?\n\nAgent Yellow: I see it."
        )
        assert session.snapshot.session.boundary == 3
        notes = [call.left_out for call in await session.reads.artifacts() if call.agent_id in tuple(Slot)]
        assert notes == [(REASON_NOTE,), (), ()]
    assert "Agent Red says nothing." in sent(model)
    assert CANARY not in sent(model)


async def test_an_empty_reply_is_silence_where_it_is_allowed_and_an_error_elsewhere(
    store: PostgresStore,
) -> None:
    model = scripted(
        failing(RequestKind.REPLY, Fault.EMPTY),
        failing(RequestKind.REPLY, Fault.WHITE_SPACE),
        failing(RequestKind.REPLY, Fault.EMPTY),
    )
    async with chapter(store, model) as session:
        await session.scene.set_silence([RED])
        for _ in range(2):
            assert (await say(session, RED, "Well?")).is_silent
        calls = await session.reads.artifacts()
        assert [call.error_code for call in calls if call.agent_id == RED] == [None, None]
        request = await session.wait(await session.submit_prompt(ORANGE, "And you?"))
        assert request.error_code is ErrorCode.LLM_ERROR


async def test_a_call_that_fails_in_another_way_fails_as_before(store: PostgresStore) -> None:
    model = scripted(
        failing(RequestKind.REPLY, Fault.SERVER_ERROR), failing(RequestKind.REPLY, Fault.TRUNCATED)
    )
    async with chapter(store, model) as session:
        await session.scene.set_silence(EVERYONE)
        for code in (ErrorCode.LLM_SERVER_ERROR, ErrorCode.LLM_TRUNCATED):
            request = await session.wait(await session.submit_prompt(RED, "Well?"))
            assert request.error_code is code


async def test_marks_are_words_like_any_others_while_silence_is_off(store: PostgresStore) -> None:
    async with chapter(store, replies(SILENT)) as session:
        assert session.snapshot.session.may_be_silent == NOBODY
        assert (await say(session, RED, "Well?")).text == SILENT


async def test_a_silent_reply_is_re_rolled_corrected_chosen_undone_and_branched_like_any_other(
    store: PostgresStore,
) -> None:
    async with chapter(store, replies(SILENT, "I rang it.", "Go.")) as session:
        await session.scene.set_silence(EVERYONE)
        await say(session, RED, "Who rang the bell?")
        with pytest.raises(IllegalCommandError, match="says nothing; there is nothing to go on with"):
            await session.takes.continue_reply()
        await done(session, await session.takes.reroll())
        assert session.snapshot.recent[-1].text == "I rang it."
        await session.takes.choose(1)
        assert session.snapshot.recent[-1].reason == CANARY
        await session.takes.correct_reply("I did.")
        assert not session.snapshot.recent[-1].is_silent
        assert session.snapshot.recent[-1].reason == ""
        await session.takes.choose(1)
        await session.takes.undo()
        await session.takes.redo()
        assert session.snapshot.recent[-1].reason == CANARY
        await say(session, ORANGE, "And you?")
        await session.create_save_point("here")
        catalog = SessionCatalog(store, defaults_for("scripted"), label="elsewhere", clock=utc_now)
        branched = await store.load(await catalog.branch(session.id, 1))
        assert branched.recent[-1].reason == CANARY
        assert branched.session.may_be_silent == EVERYONE
        slot = (await catalog.save_points.listed(session.id))[-1]
        restored = await store.load(await catalog.save_points.restore(session.id, slot.number))
        assert [event.reason for event in restored.recent if event.slot is RED] == [CANARY]


async def test_a_reply_that_was_stopped_within_its_reason_is_kept_without_it(store: PostgresStore) -> None:
    model = GatedModel(replies(f"Hm.[why]{CANARY}"), when=lambda call: call.schema is None)
    async with chapter(store, model) as session:
        await session.scene.set_silence(EVERYONE)
        async with listening(session) as ears:
            request_id = await session.submit_prompt(RED, "Well?")
            await ears.hear(TextArrived)
            await session.cancel(request_id)
            await session.wait_idle()
        await session.scene.set_silence(NOBODY)  # What the call was asked for counts, not what would be now.
        await session.takes.keep_partial(request_id)
        kept = session.snapshot.recent[-1]
        assert (kept.text, kept.reason) == ("Hm.", "She")


async def test_an_export_has_the_reason_in_json_alone_and_is_read_in_again(store: PostgresStore) -> None:
    async with chapter(store, replies(SILENT)) as session:
        await session.scene.set_silence([RED, ORANGE])
        await say(session, RED, "Well?")
        body = await read_body(store, session.id)
        assert CANARY in to_json(body).decode()
        again = from_json(to_json(body))
        assert again == body
        assert CANARY not in render_all(body.events, body.session).text
        fresh = as_new_session(again, body.session.id)
        assert fresh.session is not None
        assert fresh.session.may_be_silent == Audience.of([RED, ORANGE])


async def test_an_export_of_a_chapter_without_silence_is_what_it_always_was(store: PostgresStore) -> None:
    async with chapter(store) as session:
        body = await read_body(store, session.id)
        for word in ("may_be_silent", "away", "hint_after"):
            assert f'"{word}"' not in to_json(body).decode()
        assert from_json(to_json(body)) == body
