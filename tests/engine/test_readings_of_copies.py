"""What a branch, a restored save slot and an import have of what was read for the memory bank (design 15)."""

from dataclasses import replace

import pytest

from core.domain.audience import Audience
from core.domain.errors import ErrorCode
from core.domain.ids import SessionId
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.slot import Slot
from core.exchange.session_copy import PUT_ASIDE
from core.exchange.session_export import from_json, read_body, to_json
from core.providers.scripted.script import Entry, ScriptMatch
from db.store import PostgresStore
from tests.core.rooms.bank_room import SAID, calls, extractions, fact, items, read, scan
from tests.engine.windows import chapter, done, engine_on, play, scripted, window

pytestmark = pytest.mark.anyio
REPLIES = Entry(match=ScriptMatch(schema="text"), text=SAID)
FIRST, SECOND = PromptRange(1, 3), PromptRange(4, 6)


async def played(store: PostgresStore, *, keeps_bank: bool = True) -> SessionId:
    """Return a chapter of seven prompts in chunks of three, of which a bank has read nothing yet."""
    async with chapter(store, scripted(REPLIES), chunk_size=3) as session:
        await play(session, 2)
        await done(session, await session.takes.reroll())
        await play(session, 5)
    if keeps_bank:
        await engine_on(store).closed(session.id).keep_bank(is_on=True)
    return session.id


async def read_in(store: PostgresStore, session_id: SessionId) -> list[PromptRange | None]:
    """Open a chapter, wait until it is read, and return the parts for which a model was asked now."""
    # A window begins to read as it opens.
    before = {one.id for one in await store.calls.artifacts(session_id)}
    async with window(store, scripted(scan(facts=[fact()]), REPLIES), session_id) as session:
        await read(session)
        parts = {one.id: one.prompts for one in await extractions(session)}
        return [parts[one.request_id] for one in await calls(session) if one.id not in before]


async def test_a_branch_reads_what_its_source_had_not_read_yet(store: PostgresStore) -> None:
    source = await played(store)
    branched = await engine_on(store).branch(source, 5)
    [waiting] = (await store.load(branched)).background
    assert (waiting.state, waiting.prompts) == (RequestState.PENDING, FIRST)
    assert await read_in(store, branched) == [FIRST]
    assert [one.name for one in await store.bank.items(branched)] == ["The brass key"]
    assert len((await store.load(source)).background) == 2, "the source reads its own parts"


async def test_a_part_that_waits_in_a_chapter_and_in_its_branch_is_paid_for_once(
    store: PostgresStore,
) -> None:
    source = await played(store)
    branched = await engine_on(store).branch(source, 5)
    assert await read_in(store, source) == [FIRST, SECOND]
    assert await read_in(store, branched) == []
    assert [one.name for one in await store.bank.items(branched)] == ["The brass key"]
    assert [one.prompts for one in await store.bank.readings(branched)] == [FIRST]


async def test_what_was_read_before_a_branch_is_not_read_again_in_it(store: PostgresStore) -> None:
    source = await played(store)
    await read_in(store, source)
    engine = engine_on(store)
    # The newest prompt has a further take, and the second one counts by its second take.
    branched = await engine.branch(source, 7)
    assert [one.prompts for one in await store.bank.readings(branched)] == [FIRST, SECOND]
    await engine.closed(branched).keep_bank(is_on=False)
    await engine.closed(branched).keep_bank(is_on=True)
    assert not (await store.load(branched)).background
    assert from_json(to_json(await read_body(store, branched)))
    # A branch in the middle of a part reads that part once it is complete, as it goes on there.
    early = await engine.branch(source, 4)
    assert [one.prompts for one in await store.bank.readings(early)] == [FIRST]
    async with window(store, scripted(scan(), REPLIES), early) as session:
        await done(session, await session.submit_prompt(Slot.RED, "Otherwise than before."))
        await play(session, 1)
        await read(session)
        assert [one.prompts for one in await extractions(session)] == [FIRST, SECOND]
        assert len(await calls(session)) == 1


async def test_a_branch_within_a_part_does_not_have_its_reading_whatever_was_whispered_after(
    store: PostgresStore,
) -> None:
    async with chapter(store, scripted(REPLIES), chunk_size=3) as session:
        await play(session, 4)
        for text in ("Between us.", "Still between us."):
            await done(
                session, await session.submit_prompt(Slot.RED, text, heard_by=Audience.of((Slot.RED,)))
            )
        await play(session, 1)
        source = session.id
    engine = engine_on(store)
    await engine.closed(source).keep_bank(is_on=True)
    await read_in(store, source)
    # Of the second part all hear the fourth prompt alone, so that a branch there has all that was read.
    branched = await engine.branch(source, 4)
    assert [one.prompts for one in await store.bank.readings(branched)] == [FIRST]
    assert from_json(to_json(await read_body(store, branched)))


async def test_a_branch_of_a_chapter_whose_bank_is_off_asks_for_nothing_and_knows_what_was_read(
    store: PostgresStore,
) -> None:
    source = await played(store)
    await read_in(store, source)
    engine = engine_on(store)
    await engine.closed(source).keep_bank(is_on=False)
    branched = await engine.branch(source, 7)
    assert not (await store.load(branched)).requests
    await engine.closed(branched).keep_bank(is_on=True)
    assert not (await store.load(branched)).background


async def test_a_branch_of_a_chapter_without_a_bank_asks_nothing_about_readings(
    store: PostgresStore, sent: list[str]
) -> None:
    source, engine = await played(store, keeps_bank=False), engine_on(store)
    asked: list[int] = []
    for keeps_bank in (False, True):
        await engine.closed(source).keep_bank(is_on=keeps_bank)
        sent.clear()
        branched = await engine.branch(source, 7)
        asked.append(sum("llm_request.kind = " in one for one in sent))
        assert bool(await store.calls.requests(branched)) is keeps_bank
    assert asked == [0, 1]


async def test_a_save_slot_reads_what_was_not_read_when_it_was_taken(store: PostgresStore) -> None:
    source = await played(store)
    engine = engine_on(store)
    before = await engine.save_points.keep(source, "Unread")
    assert await read_in(store, source) == [FIRST, SECOND]
    after = await engine.save_points.keep(source, "Read")
    early = await engine.save_points.restore(source, before.number)
    late = await engine.save_points.restore(source, after.number)
    assert [one.prompts for one in (await store.load(early)).background] == [FIRST, SECOND]
    assert not await store.bank.readings(early)
    assert not await store.bank.items(early)
    assert not (await store.load(late)).background
    assert [one.prompts for one in await store.bank.readings(late)] == [FIRST, SECOND]
    assert not await read_in(store, early), "the source has paid for both parts"
    assert [one.prompts for one in await store.bank.readings(early)] == [FIRST, SECOND]
    assert [one.name for one in await store.bank.items(early)] == ["The brass key"]


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (RequestState.PENDING, None),
        (RequestState.DEAD, ErrorCode.LLM_SERVER_ERROR),
        (RequestState.FAILED, ErrorCode.CEILING_REACHED),
    ],
)
async def test_an_import_waits_with_what_its_file_had_not_read_until_it_is_asked_for(
    store: PostgresStore, state: RequestState, code: ErrorCode | None
) -> None:
    engine = engine_on(store)
    body = from_json(await engine.export(await played(store)))
    requests = tuple(
        replace(one, state=state, error_code=code, error_message="Away." if code else "")
        if one.kind is RequestKind.EXTRACTION
        else one
        for one in body.requests
    )
    copy = await engine.import_body(replace(body, requests=requests))
    async with window(store, scripted(scan(facts=[fact()]), REPLIES), copy) as session:
        aside = session.snapshot.requests
        assert [(one.state, one.error_message) for one in aside] == [(RequestState.FAILED, PUT_ASIDE)] * 2
        for one in aside:
            await session.retry(one.id)
        await read(session)
        assert len(await items(session)) == 1
