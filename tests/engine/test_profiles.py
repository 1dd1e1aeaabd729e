"""What slots have of characters of the library goes with a chapter wherever it goes, on a real database."""

import psycopg
import pytest

from core.domain.clock import utc_now
from core.domain.errors import IllegalCommandError
from core.domain.session.profile import Profile, Profiles
from core.domain.slot import Slot
from core.engine.catalog import SessionCatalog
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.save_points.service import SavePoints
from core.exchange.session_export import from_json, read_body, to_json
from db.store import PostgresStore
from tests.engine.windows import create, done, play, window
from tests.store.servers import plain_url

pytestmark = pytest.mark.anyio
PROFILES: Profiles = {
    Slot.RED: Profile(short_description="The keeper. [/x]", aliases=("Kay", "日本"), group="Lamp"),
    Slot.YELLOW: Profile(groups_visible=()),
}


async def test_branches_save_points_and_copies_have_them_and_the_lock_keeps_them(
    store: PostgresStore, url: str
) -> None:
    catalog = SessionCatalog(store, label="here", clock=utc_now)
    async with window(store, None, await create(store)) as session:
        await session.edit_tab1(Tab1Edit(world="A sea of glass.", agent_count=3, profiles=PROFILES))
        await done(session, await session.lock())
        await play(session, 2)
        with pytest.raises(IllegalCommandError):
            await session.edit_tab1(Tab1Edit(profiles={Slot.RED: Profile()}))
        branched = await catalog.branch(session.id, 1)
        kept = await SavePoints(store, utc_now).keep(session.id, "Now")
    restored = await SavePoints(store, utc_now).restore(session.id, kept.number)
    copied = await catalog.import_body(from_json(to_json(await read_body(store, session.id))))
    for session_id in (session.id, branched, restored, copied):
        assert (await store.load(session_id)).tab1.profiles == PROFILES
    with psycopg.connect(plain_url(url)) as raw, pytest.raises(psycopg.Error, match="is locked"):
        raw.execute("UPDATE tab1_input SET profiles = '{}' WHERE session_id = %s", (session.id,))
