"""What slots have of characters of the library goes with a chapter wherever it goes, on a real database."""

import psycopg
import pytest

from core.config.models.assignments import defaults_for
from core.domain.clock import utc_now
from core.domain.errors import IllegalCommandError
from core.domain.session.profile import Profile, Profiles
from core.domain.slot import Slot
from core.engine.catalog import SessionCatalog
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.services.library.characters import NOT_TAKEN, CharacterLibrary
from core.engine.services.save_points.save_points import SavePoints
from core.exchange.session_export import from_json, read_body, to_json
from core.library.cards.card_file import CardFormat
from core.library.refusal import FileRefusedError
from db.store import PostgresStore
from tests.core.library.cards.card_samples import V2, text_of
from tests.engine.windows import create, done, play, window
from tests.store.servers import plain_url

pytestmark = pytest.mark.anyio
PROFILES: Profiles = {
    Slot.RED: Profile(
        short_description="The keeper. [/x]", aliases=("Kay", "日本"), group="Lamp", tags=("sea",)
    ),
    Slot.YELLOW: Profile(groups_visible=()),
}


async def test_branches_save_points_and_copies_have_them_and_the_lock_keeps_them(
    store: PostgresStore, url: str
) -> None:
    catalog = SessionCatalog(store, defaults_for("scripted"), label="here", clock=utc_now)
    async with window(store, None, await create(store)) as session:
        await session.edits.edit_tab1(Tab1Edit(world="A sea of glass.", character_count=3, profiles=PROFILES))
        await done(session, await session.lock())
        await play(session, 2)
        with pytest.raises(IllegalCommandError):
            await session.edits.edit_tab1(Tab1Edit(profiles={Slot.RED: Profile()}))
        branched = await catalog.branch(session.id, 1)
        kept = await SavePoints(store, utc_now).keep(session.id, "Now")
    restored = await SavePoints(store, utc_now).restore(session.id, kept.number)
    copied = await catalog.import_body(from_json(to_json(await read_body(store, session.id))))
    for session_id in (session.id, branched, restored, copied):
        assert (await store.load(session_id)).tab1.profiles == PROFILES
    with psycopg.connect(plain_url(url)) as raw, pytest.raises(psycopg.Error, match="is locked"):
        raw.execute("UPDATE tab1_input SET profiles = '{}' WHERE session_id = %s", (session.id,))


async def test_a_card_from_outside_is_taken_without_groups_and_without_the_names_of_others(
    store: PostgresStore,
) -> None:
    library = CharacterLibrary(store.library, utc_now)
    await library.create("Kara")
    ours = {"aliases": ["Kara", "Shade"], "group": "Crew", "groups_visible": ["Guests"], "is_static": True}
    value = {**V2, "data": {**V2["data"], "name": "Spy", "extensions": {"story_engine": ours}}}
    done = await library.import_card(text_of(value), "spy.json")
    spy = await library.find("Shade")
    assert (spy.aliases, spy.group, spy.is_static) == (("Shade",), "General", False)
    assert done.not_taken == "group Crew; sees Guests; static"
    assert done.report[-3:] == (
        "It says of itself: group Crew; sees Guests; static.",
        NOT_TAKEN,
        "“Kara” is a name of another character; it was left out.",
    )
    assert (await library.export(spy, CardFormat.JSON)).content == text_of(value)
    second = {**value, "data": {**value["data"], "name": "Second"}}
    trusted = await library.import_card(text_of(second), "second.json", is_trusted=True)
    assert (trusted.character.group, trusted.character.is_static) == ("Crew", True)
    assert (trusted.not_taken, NOT_TAKEN in trusted.report) == ("", False)


async def test_a_trusted_card_is_refused_whose_group_no_line_of_groups_can_name(
    store: PostgresStore,
) -> None:
    library = CharacterLibrary(store.library, utc_now)
    ours = {"group": "Crew, Guests", "groups_visible": ["Crew; Guests"]}
    value = {**V2, "data": {**V2["data"], "name": "Mole", "extensions": {"story_engine": ours}}}
    with pytest.raises(FileRefusedError, match="no semicolon, which separates groups, and no comma"):
        await library.import_card(text_of(value), "mole.json", is_trusted=True)
    assert "Mole" not in {one.name for one in await store.library.characters()}
    plain = await library.import_card(text_of(value), "mole.json")
    assert plain.character.group == "General"
