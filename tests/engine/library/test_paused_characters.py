"""Characters that are paused in the library and taken along into a chapter, on a real database."""

from datetime import timedelta

import pytest

from core.domain.clock import utc_now
from core.domain.errors import IllegalCommandError
from core.domain.ids import SessionId
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session import PAUSED
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.services.library.characters import CharacterLibrary
from core.engine.session.session_handle import SessionHandle
from core.exchange.session_export import from_json, read_body, to_json
from core.library.characters.character import LibraryCharacter
from core.providers.scripted.script import Fault
from db.store import PostgresStore
from tests.engine.windows import Recorder, create, done, failing, scripted, window

pytestmark = pytest.mark.anyio
RED, ORANGE = Slot.RED, Slot.ORANGE


async def taken(session: SessionHandle, *characters: LibraryCharacter) -> None:
    """Take characters of the library into the first slots of a chapter that is set up."""
    slots = dict(zip(Slot, characters, strict=False))
    await session.edits.edit_tab1(
        Tab1Edit(
            world="A sea of glass.",
            character_count=3,
            names={slot: one.name for slot, one in slots.items()},
            profiles={slot: one.profile for slot, one in slots.items()},
        )
    )


async def locked(session: SessionHandle) -> None:
    await done(session, await session.lock())


async def two_of(store: PostgresStore) -> tuple[CharacterLibrary, LibraryCharacter, LibraryCharacter]:
    library = CharacterLibrary(store.library, utc_now)
    return library, await library.create("Kara"), await library.create("Joss")


async def test_one_that_is_paused_at_the_lock_is_away_and_the_next_answers_first(
    store: PostgresStore,
) -> None:
    library, kara, joss = await two_of(store)
    await library.pause(kara)
    model = Recorder()
    async with window(store, model, await create(store)) as session:
        await taken(session, kara, joss)
        await locked(session)
        assert session.snapshot.session.away == {RED: PAUSED}
        assert session.snapshot.session.next_slot is ORANGE
        with pytest.raises(IllegalCommandError, match="is away while it is paused in the library"):
            await session.submit_prompt(RED, "Who is there?")
        await done(session, await session.submit_prompt(ORANGE, "Who is there?"))
        assert RED not in session.snapshot.recent[0].audience
        exported = to_json(await read_body(store, session.id))
        assert from_json(exported).session.away == {RED: PAUSED}


async def test_it_is_back_with_the_next_prompt_or_opening_once_it_is_resumed(store: PostgresStore) -> None:
    library, kara, joss = await two_of(store)
    kara, joss = await library.pause(kara), await library.pause(joss)
    session_id = await create(store)
    async with window(store, None, session_id) as session:
        await taken(session, kara, joss)
        await locked(session)
        assert session.snapshot.session.away == {RED: PAUSED, ORANGE: PAUSED}
        await library.resume(kara)
        await done(session, await session.submit_prompt(RED, "Who is there?"))
        assert session.snapshot.session.away == {ORANGE: PAUSED}
    await library.archive(joss)
    async with window(store, None, session_id) as session:
        assert session.snapshot.session.away == {}
        assert session.snapshot.session.present.is_everyone


async def test_a_pause_that_has_an_end_is_over_then(store: PostgresStore) -> None:
    library, kara, joss = await two_of(store)
    ending = CharacterLibrary(store.library, lambda: utc_now() - timedelta(days=2))
    kara = await ending.pause(kara, utc_now() - timedelta(days=1))
    await library.pause(joss, utc_now() + timedelta(days=1))
    async with window(store, None, await create(store)) as session:
        await taken(session, kara, joss)
        await locked(session)
        assert session.snapshot.session.away == {ORANGE: PAUSED}


async def test_whom_the_gm_brings_back_or_sends_away_is_left_alone(store: PostgresStore) -> None:
    library, kara, joss = await two_of(store)
    await library.pause(kara)
    session_id = await create(store)
    async with window(store, None, session_id) as session:
        await taken(session, kara, joss)
        await locked(session)
        await session.scene.set_away({ORANGE: 0})
        await done(session, await session.submit_prompt(RED, "Who is there?"))
    async with window(store, None, session_id) as session:
        assert session.snapshot.session.away == {ORANGE: 0}


async def test_with_everyone_paused_nothing_is_locked(store: PostgresStore) -> None:
    library, kara, _ = await two_of(store)
    await library.pause(kara)
    async with window(store, None, await create(store)) as session:
        await taken(session, kara)
        await session.edits.edit_tab1(Tab1Edit(character_count=1))
        with pytest.raises(IllegalCommandError, match="All characters of this chapter are paused"):
            await session.lock()
        assert session.snapshot.session.state is SessionState.DRAFT_TAB1


async def test_a_lock_that_failed_looks_again_who_is_paused(store: PostgresStore) -> None:
    library, kara, joss = await two_of(store)
    paused = await library.pause(kara)
    model = scripted(failing(RequestKind.LOCK, Fault.REQUEST_ERROR))
    async with window(store, model, await create(store)) as session:
        await taken(session, kara, joss)
        assert (await session.wait(await session.lock())).has_failed
        await library.resume(paused)
        await library.pause(joss)
        await locked(session)
        assert session.snapshot.session.away == {ORANGE: PAUSED}


async def test_a_chapter_without_the_library_asks_it_nothing(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(**_: object) -> None:
        raise AssertionError("the library was asked")

    session_id: SessionId = await create(store)
    monkeypatch.setattr(store.library, "characters", refuse)
    async with window(store, None, session_id) as session:
        await session.edits.edit_tab1(Tab1Edit(world="A sea.", character_count=2))
        await locked(session)
        await done(session, await session.submit_prompt(RED, "Who is there?"))


async def test_what_cannot_be_paused_or_resumed_is_said(store: PostgresStore) -> None:
    library, kara, _ = await two_of(store)
    with pytest.raises(IllegalCommandError, match="ends later than now"):
        await library.pause(kara, utc_now())
    with pytest.raises(IllegalCommandError, match="is not paused"):
        await library.resume(kara)
