"""Characters that bring a model from the library are played by it, on a real database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from core.config.models.accounts import accounts_of
from core.config.models.assignments import choose_models, defaults_for
from core.config.sections import AccountSettings, ProfileSettings
from core.domain.clock import utc_now
from core.domain.requests.request import Artifact
from core.domain.session.profile import Profile, Profiles
from core.domain.slot import Slot
from core.engine.catalog import SessionCatalog
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.engine.services.save_points.save_points import SavePoints
from core.engine.session.session_handle import SessionHandle
from core.exchange.session_export import from_json, read_body, to_json
from core.gateway.lanes import Lane
from core.providers.scripted.script import Entry, Fault, Script
from db.store import PostgresStore
from tests.core.values.sessions import waiting
from tests.engine.windows import Recorder, create, done, play

pytestmark = pytest.mark.anyio
OWN = ProfileSettings(provider="openai", base_url="http://127.0.0.1:9/v1")
ACCOUNTS = accounts_of(OWN, "local", {"near": AccountSettings(base_url="http://127.0.0.1:8/v1")})
CAST: Profiles = {Slot.RED: Profile(model="near:big"), Slot.ORANGE: Profile(model="gone:big")}


@asynccontextmanager
async def chapter(
    store: PostgresStore, profiles: Profiles, near: Recorder | None = None
) -> AsyncIterator[tuple[Engine, SessionHandle]]:
    """Have a locked chapter open, beside whose own service there is the account `near`."""
    lanes = {"near": Lane.to(near or Recorder())}
    choices = choose_models(OWN, ACCOUNTS)
    engine = Engine(store, Recorder(), choices, label="here", lanes=lanes, play=waiting(3600.0))
    session = await engine.open(await create(store))
    try:
        edit = Tab1Edit(world="A sea.", chapter="Dark.", character_count=3, profiles=profiles)
        await session.edits.edit_tab1(edit)
        await done(session, await session.lock())
        yield engine, session
    finally:
        await session.aclose()


def models(artifacts: list[Artifact]) -> list[str]:
    return [one.model for one in artifacts if one.agent_id in list(Slot)]


async def test_each_reply_goes_to_the_model_that_its_character_brings(store: PostgresStore) -> None:
    near = Recorder()
    async with chapter(store, CAST, near) as (engine, session):
        for slot in (Slot.RED, Slot.ORANGE, Slot.YELLOW):
            await play(session, 1, slot)
        artifacts = list(await session.reads.artifacts())
        assert [call.model for call in near.calls] == ["big"]
        assert models(artifacts) == ["near:a script", "a script", "a script"]
        rooms = [(await engine.preview(session.id, slot, "And now?")).max_input_tokens for slot in CAST]
        assert rooms[0] < rooms[1], "little is known of what another model can hold"


async def test_another_take_is_by_the_same_model_unless_the_gm_chose_one(store: PostgresStore) -> None:
    near = Recorder()
    async with chapter(store, CAST, near) as (_, session):
        await play(session, 1)
        await done(session, await session.takes.reroll())
        await done(session, await session.takes.reroll(model="near:other"))
        assert [call.model for call in near.calls] == ["big", "big", "other"]


async def test_the_queue_names_the_model_that_is_asked(store: PostgresStore) -> None:
    async with chapter(store, CAST) as (engine, session):
        await engine.queue.pause()
        try:
            await session.submit_prompt(Slot.RED, "Who are you?")
            await session.submit_prompt(Slot.ORANGE, "And you?")
            entries = [one for one in await engine.queue.entries() if one.request.session_id == session.id]
            assert [one.lane for one in entries] == ["near:big", "o4-mini"]
        finally:
            await engine.queue.resume()
        await session.wait_idle()


async def test_branches_and_save_points_keep_it_and_a_file_brings_none_without_a_yes(
    store: PostgresStore,
) -> None:
    catalog = SessionCatalog(store, defaults_for("scripted"), label="here", clock=utc_now)
    async with chapter(store, CAST) as (_, session):
        await play(session, 1)
        branched = await catalog.branch(session.id, 1)
        kept = await SavePoints(store, utc_now).keep(session.id, "Now")
    restored = await SavePoints(store, utc_now).restore(session.id, kept.number)
    body = from_json(to_json(await read_body(store, session.id)))
    trusted = await catalog.import_body(body, is_trusted=True)
    for session_id in (session.id, branched, restored, trusted):
        assert (await store.load(session_id)).tab1.profiles == CAST
    assert (await store.load(await catalog.import_body(body))).tab1.profiles == {}


async def test_a_file_chooses_no_model_for_a_call_that_is_made_again_without_a_yes(
    store: PostgresStore,
) -> None:
    catalog = SessionCatalog(store, defaults_for("scripted"), label="here", clock=utc_now)
    failing = Recorder(Script(reply=(Entry(fault=Fault.AUTH),)))
    async with chapter(store, {}, failing) as (_, session):
        await play(session, 1)
        asked = await session.takes.reroll(model="near:other")
        assert (await session.wait(asked)).has_failed
    body = from_json(to_json(await read_body(store, session.id)))
    for is_trusted, model in ((True, "near:other"), (False, "")):
        imported = await store.load(await catalog.import_body(body, is_trusted=is_trusted))
        assert [getattr(one, "model", None) for one in imported.requests] == [model]


async def test_a_profile_without_a_model_is_stored_and_written_as_it_always_was(store: PostgresStore) -> None:
    async with chapter(store, {Slot.RED: Profile(group="Lamp")}) as (_, session):
        assert b'"model": ""' not in to_json(await read_body(store, session.id)).split(b'"events"')[0]
