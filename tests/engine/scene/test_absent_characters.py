"""Characters that are away for a while, and hints at those that were silent, on a real database."""

import json

import psycopg
import pytest

from core.config.models.assignments import defaults_for
from core.domain.audience import EVERYONE, Audience
from core.domain.clock import utc_now
from core.domain.errors import IllegalCommandError
from core.domain.ids import SessionId
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.engine.catalog import SessionCatalog
from core.engine.scene import staging
from core.engine.session.session_handle import SessionHandle
from core.exchange.session_export import ImportRefusedError, from_json, read_body, to_json
from core.text.canonical_json import canonical, checksum
from db.store import PostgresStore
from tests.engine.windows import Recorder, chapter, done, window
from tests.store.servers import plain_url

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("without_auto_saves")]
RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW
OTHERS = Audience.of([RED, YELLOW])


async def say(session: SessionHandle, slot: Slot, text: str) -> None:
    await done(session, await session.submit_prompt(slot, text))
    await session.wait_idle()


def refuse(document: bytes, path: tuple[str | int, ...], name: str, wrong: object) -> None:
    """Change a field of an export, with a checksum that fits, and have its import refused."""
    plain = json.loads(document)
    record = plain["body"]
    for step in path:
        record = record[step]
    record[name] = wrong
    plain["sha256"] = checksum(canonical(plain["body"]))
    with pytest.raises(ImportRefusedError):
        from_json(json.dumps(plain).encode())


async def back(store: PostgresStore, session_id: SessionId, slot: Slot) -> Session:
    """Bring a character back into a chapter that is not open, and return the chapter."""
    catalog = SessionCatalog(store, defaults_for("scripted"), label="elsewhere", clock=utc_now)
    await catalog.closed(session_id).apply(lambda now: staging.bring_back(now, slot, utc_now()))
    return (await store.load(session_id)).session


async def test_one_that_is_away_hears_nothing_is_skipped_and_is_back_at_its_prompt(
    store: PostgresStore,
) -> None:
    model = Recorder()
    async with chapter(store, model) as session:
        await session.scene.set_away({ORANGE: 3})
        with pytest.raises(IllegalCommandError, match="away until prompt 3; bring Agent Orange back"):
            await session.submit_prompt(ORANGE, "Where are you?")
        await say(session, RED, "Who is missing?")
        assert session.snapshot.session.next_slot is YELLOW
        await session.scene.narrate("A bell rings.")
        await say(session, YELLOW, "And now?")
        assert session.snapshot.session.next_slot is RED
        await say(session, ORANGE, "You are back.")
        audiences = [event.audience for event in session.snapshot.recent if event.slot is None]
        assert audiences == [OTHERS, OTHERS, OTHERS, EVERYONE]
    sent = ["\n".join(message.content for message in call.messages) for call in model.calls]
    assert ["Agent Orange is away" in text for text in sent] == [True, True, False]
    assert "Who is missing?" not in sent[2]


async def test_an_absence_without_an_end_lasts_until_the_gm_ends_it_also_over_a_restart(
    store: PostgresStore,
) -> None:
    async with chapter(store) as session:
        await session.scene.set_present([RED, ORANGE])
        await session.scene.set_away({ORANGE: 0})
        await say(session, RED, "Alone?")
    async with window(store, session_id=session.id) as session:
        assert session.snapshot.session.away == {ORANGE: 0}
        assert session.snapshot.session.here == Audience.of([RED])
    mine = await back(store, session.id, ORANGE)
    assert mine.away == {}
    assert mine.here == Audience.of([RED, ORANGE])
    with pytest.raises(IllegalCommandError, match="not away"):
        await back(store, session.id, ORANGE)


async def test_who_the_gm_puts_into_the_scene_is_back_and_others_keep_their_place(
    store: PostgresStore,
) -> None:
    async with chapter(store) as session:
        await session.scene.set_away({ORANGE: 0, YELLOW: 9})
        await session.scene.set_present([RED, ORANGE])
        assert session.snapshot.session.away == {YELLOW: 9}
        assert session.snapshot.session.here == Audience.of([RED, ORANGE])
    assert (await back(store, session.id, YELLOW)).here == EVERYONE


async def test_an_absence_needs_a_later_prompt_a_character_and_someone_who_stays(
    store: PostgresStore,
) -> None:
    async with chapter(store) as session:
        for back_at, slot, why in ((1, RED, "choose a later one"), (0, Slot.BLUE, "does not play")):
            with pytest.raises(IllegalCommandError, match=why):
                await session.scene.set_away({slot: back_at})
        with pytest.raises(IllegalCommandError, match="has to stay"):
            await session.scene.set_away(dict.fromkeys((RED, ORANGE, YELLOW), 0))
        await session.scene.set_away({RED: 0})
        assert session.snapshot.session.next_slot is ORANGE


async def test_undo_and_a_branch_lead_back_to_who_was_away_then(store: PostgresStore) -> None:
    async with chapter(store) as session:
        await session.scene.set_away({ORANGE: 3})
        await say(session, RED, "One.")
        await say(session, RED, "Two.")
        assert not session.snapshot.session.is_away(ORANGE)
        await session.takes.undo()
        assert session.snapshot.session.is_away(ORANGE)
        await session.takes.redo()
        await session.scene.set_away({YELLOW: 0})
        await say(session, RED, "Three.")
        catalog = SessionCatalog(store, defaults_for("scripted"), label="elsewhere", clock=utc_now)
        for at, away in ((1, {ORANGE: 3}), (2, {ORANGE: 3}), (3, {YELLOW: 0})):
            branched = (await store.load(await catalog.branch(session.id, at))).session
            assert branched.away == away
        assert branched.here == Audience.of([RED, ORANGE])


async def test_a_re_roll_is_heard_by_those_who_heard_the_prompt_and_says_who_was_away(
    store: PostgresStore,
) -> None:
    model = Recorder()
    async with chapter(store, model) as session:
        await session.scene.set_away({ORANGE: 2})
        await say(session, RED, "One.")
        await done(session, await session.takes.reroll())
        assert session.snapshot.recent[0].audience == OTHERS
        assert session.snapshot.recent[0].metadata["away"] == {"2": 2}
    first, again = model.calls
    assert first.messages == again.messages


async def test_absences_and_hints_are_exported_and_a_forged_one_is_refused(store: PostgresStore) -> None:
    async with chapter(store) as session:
        await session.scene.set_away({ORANGE: 7})
        await session.scene.set_hint(9)
        await say(session, RED, "One.")
        document = to_json(await read_body(store, session.id))
    body = from_json(document)
    assert (body.session.away, body.session.hint_after) == ({ORANGE: 7}, 9)
    of_session: list[tuple[str, object]] = [
        *(("away", away) for away in ({"6": 7}, {"2": -2})),
        *(("hint_after", prompts) for prompts in (-1, 10**6)),
    ]
    for name, wrong in of_session:
        refuse(document, ("session",), name, wrong)
    of_events: list[tuple[int, str, object]] = [
        (0, "away", {"2": "soon"}),
        (0, "away", {"x": 1}),
        (0, "away", {}),
        (0, "away", []),
        (1, "reason", "x" * 2_000),
        (1, "reason", 3),
        (1, "manner", "loud"),
        (1, "manner", []),
    ]
    for place, name, wrong in of_events:
        refuse(document, ("events", place, "metadata"), name, wrong)


async def test_the_newest_reply_of_each_character_is_that_of_canon(store: PostgresStore) -> None:
    async with chapter(store) as session:
        assert await store.last_replies(session.id) == {}
        for slot in (RED, ORANGE, RED):
            await say(session, slot, "Well?")
        await session.takes.undo()
        replies = await store.last_replies(session.id)
        assert {slot: index for slot, (index, _) in replies.items()} == {RED: 1, ORANGE: 2}


async def test_hints_come_only_when_the_gm_wants_them(store: PostgresStore) -> None:
    async with chapter(store, chunk_size=3) as session:
        for _ in range(4):
            await say(session, RED, "Well?")
        assert await session.heartbeats.hints() == ()
        await session.scene.set_hint(4)
        assert [(hint.slot, hint.prompts) for hint in await session.heartbeats.hints()] == [
            (ORANGE, 4),
            (YELLOW, 4),
        ]
        await session.scene.set_away({ORANGE: 0})
        assert [hint.slot for hint in await session.heartbeats.hints()] == [YELLOW]
        with pytest.raises(IllegalCommandError, match="Choose 1 to"):
            await session.scene.set_hint(1_001)


@pytest.mark.parametrize("column", ["away = '[]'", "may_be_silent = 128", "hint_after = -1"])
async def test_the_database_refuses_what_no_session_can_be(
    store: PostgresStore, url: str, column: str
) -> None:
    async with chapter(store) as session:
        with psycopg.connect(plain_url(url)) as connection, pytest.raises(psycopg.errors.CheckViolation):
            connection.execute(f"UPDATE session SET {column} WHERE id = %s", [session.id])
