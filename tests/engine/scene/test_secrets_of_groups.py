"""A secret for those who see a group: who that is, is settled at the lock, on a real database."""

import pytest

from core.domain.audience import EVERYONE, NOBODY, Audience
from core.domain.errors import IllegalCommandError
from core.domain.session.profile import Profile, Profiles
from core.domain.slot import Slot
from core.domain.story.secret import Secret
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.session.session_handle import SessionHandle
from core.exchange.session_export import from_json, read_body, to_json
from db.store import PostgresStore
from tests.engine.windows import Outage, Recorder, create, done, play, window

pytestmark = pytest.mark.anyio
LAMP = Profile(group="Lamp", groups_visible=())
HARBOUR = Profile(group="Harbour")
TEXT = "The lamp was put out on purpose."
RED, ORANGE = Audience.of([Slot.RED]), Audience.of([Slot.ORANGE])


async def set_up(session: SessionHandle, profiles: Profiles) -> None:
    edit = Tab1Edit(world="A sea of glass.", chapter="Dark.", character_count=3, profiles=profiles)
    await session.edits.edit_tab1(edit)


def secret(*groups: str, known_by: Audience = NOBODY) -> Secret:
    return Secret(number=1, text=TEXT, known_by=known_by, groups=groups)


async def test_who_sees_the_group_is_settled_at_the_lock_and_stays(store: PostgresStore) -> None:
    model = Recorder()
    async with window(store, model, await create(store)) as session:
        await set_up(session, {Slot.RED: LAMP})
        await session.scene.edit_secrets([secret("Lamp")])
        [now] = session.snapshot.secrets_now
        assert (session.snapshot.secrets[0].known_by, now.known_by) == (NOBODY, RED)
        # Between the choice and the lock the groups change: one leaves, another comes.
        await set_up(session, {Slot.RED: HARBOUR, Slot.ORANGE: LAMP})
        assert session.snapshot.secrets_now[0].known_by == ORANGE
        await done(session, await session.lock())
        assert session.snapshot.secrets == (secret("Lamp", known_by=ORANGE),)
        for slot in (Slot.RED, Slot.ORANGE, Slot.YELLOW):
            await play(session, 1, slot)
    told = [call for call in model.calls if any(TEXT in one.content for one in call.messages)]
    assert [any("Agent Orange" in one.content for one in call.messages) for call in told] == [True]
    assert (await store.load(session.id)).secrets == (secret("Lamp", known_by=ORANGE),)
    body = from_json(to_json(await read_body(store, session.id)))
    assert body.secrets == (secret("Lamp", known_by=ORANGE),)


async def test_a_secret_that_is_added_in_play_is_for_those_who_see_the_group_then(
    store: PostgresStore,
) -> None:
    async with window(store, None, await create(store)) as session:
        await set_up(session, {Slot.RED: LAMP, Slot.ORANGE: Profile(groups_visible=("Lamp",))})
        await done(session, await session.lock())
        await session.scene.edit_secrets([secret("lamp", known_by=ORANGE)])
        assert session.snapshot.secrets == (secret("lamp", known_by=RED | ORANGE),)
        await session.scene.edit_secrets([secret("lamp", known_by=ORANGE)])  # as a script says it again
        with pytest.raises(IllegalCommandError, match="stays as it is"):
            await session.scene.edit_secrets([secret("General", known_by=ORANGE)])


async def test_a_lock_that_could_not_be_stored_has_settled_nothing(store: PostgresStore) -> None:
    outage = Outage(store)
    async with window(outage, None, await create(store)) as session:
        await set_up(session, {Slot.RED: LAMP})
        await session.scene.edit_secrets([secret("Lamp")])
        outage.fail(1, OSError("away"), lambda changes: changes.secrets is not None)
        request = await session.wait(await session.lock())
        assert (request.has_failed, outage.failures) == (True, 1)
        stored = await store.load(session.id)
        assert (stored.session.tab1_locked, stored.secrets) == (False, (secret("Lamp"),))


async def test_secrets_without_groups_are_not_stored_again_by_the_lock(store: PostgresStore) -> None:
    stored: list[bool] = []
    outage = Outage(store)
    outage.trouble = lambda changes: stored.append(changes.secrets is not None)
    async with window(outage, None, await create(store)) as session:
        await set_up(session, {Slot.RED: LAMP})
        await session.scene.edit_secrets([secret(known_by=EVERYONE)])
        before = sum(stored)
        await done(session, await session.lock())
        assert sum(stored) == before
        assert b'"groups"' not in to_json(await read_body(store, session.id))
