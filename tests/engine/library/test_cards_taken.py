"""Cards on a real store: which version and picture comes out, and what of one goes into a chapter."""

import json
from typing import Any
from uuid import uuid4

import pytest

from core.agents.context_builder import ContextBuilder
from core.domain.clock import utc_now
from core.domain.errors import IllegalCommandError
from core.domain.ids import SessionId
from core.domain.session.prompt_block import NO_PROMPT_BLOCKS
from core.domain.slot import Slot
from core.engine.decisions.card_commands import TakenCard, apply_card, slot_for
from core.engine.engine import Engine
from core.library.cards.card import CardVersion, version_of
from core.library.cards.card_file import CardFormat, read_card
from core.library.cards.png import plain_picture
from core.library.characters.character import LibraryCharacter
from core.library.characters.from_card import tags_of
from core.library.characters.offers import chosen_of, offers_of
from core.storage.snapshot import Snapshot
from db.store import PostgresStore
from storyengine_tui.theme import colour_of
from tests.core.library.cards.card_samples import V1, V3, text_of
from tests.engine.library.lore_table import begun, engine_on

pytestmark = pytest.mark.anyio


def card(value: dict[str, Any], **fields: object) -> bytes:
    """Return a card that no other test has."""
    changed = {**value, "made_for": uuid4().hex}
    if "data" in value:
        changed["data"] = {**value["data"], **fields}
    return text_of(changed)


async def test_a_card_of_version_1_comes_out_as_2_and_3_and_as_it_was(store: PostgresStore) -> None:
    characters = engine_on(store).library.characters
    content = card(V1)
    kara = (await characters.import_card(content, "kara.json")).character
    assert (await characters.export(kara, CardFormat.JSON)).content == content
    for version in (CardVersion.V2, CardVersion.V3):
        written = json.loads((await characters.export(kara, CardFormat.JSON, version)).content)
        assert version_of(written) is version
        assert written["data"]["scenario"] == V1["scenario"]
    with pytest.raises(IllegalCommandError, match="always holds versions 2 and 3"):
        await characters.export(kara, CardFormat.PNG, CardVersion.V2)


async def test_a_card_in_the_version_that_it_has_is_the_file_as_it_came(
    store: PostgresStore,
) -> None:
    characters = engine_on(store).library.characters
    content = card(V3)
    one = (await characters.import_card(content, "kara.json")).character
    assert (await characters.export(one, CardFormat.JSON, CardVersion.V3)).content == content


async def test_a_character_kept_from_a_slot_has_a_picture_in_its_colour(
    store: PostgresStore,
) -> None:
    characters = engine_on(store).library.characters
    pell = await characters.create("Pell", "Afraid.", colour=colour_of(Slot.GREEN))
    now = await characters.find(str(pell.id))
    written = (await characters.export(now, CardFormat.PNG)).content
    assert written.startswith(plain_picture((0x5A, 0xF0, 0x7A))[:-12])
    assert read_card(written, "").card.name == pell.name
    document = json.loads((await characters.export(now, CardFormat.JSON)).content)
    assert document["data"]["description"] == "Afraid."


async def chapter_with(engine: Engine, content: bytes) -> tuple[SessionId, LibraryCharacter]:
    """Return a chapter in which two slots have somebody, and a character of a card."""
    session = await begun(engine)
    await session.aclose()
    return session.id, (await engine.library.characters.import_card(content, "kara.json")).character


async def take(engine: Engine, session_id: SessionId, one: LibraryCharacter, words: str) -> Snapshot:
    """Take a character as the command line does."""
    where = slot_for(await engine.reader(session_id).load(), one, None)
    found = (await engine.library.characters.card(one)).card
    lore = await engine.library.lore.copy_in_card(one.id, where.slot, where.name)
    offers = offers_of(found, one.id, where.name)
    chosen, wants_lore = chosen_of(offers, words, has_lore=lore is not None)
    taken = TakenCard(
        character=one,
        slot=where.slot,
        name=where.name,
        tags=() if found is None else tags_of(found),
        offers=chosen,
        lore=lore if wants_lore else None,
    )
    builder = ContextBuilder(engine.choices)
    await engine.closed(session_id).apply(
        lambda now: apply_card(now, taken, builder, utc_now()), needs_memory=True
    )
    return await engine.reader(session_id).load(with_memory=True)


async def test_a_chapter_gets_a_character_and_of_its_card_what_was_chosen(store: PostgresStore) -> None:
    engine = engine_on(store)
    session_id, one = await chapter_with(engine, card(V3))
    now = await take(engine, session_id, one, "")
    slot = slot_for(now, one, None).slot
    assert now.tab1.identities[slot] == one.identity
    assert now.tab1.profile_of(slot).tags == ("sea", "night")
    assert (now.tab1.chapter, now.prompt_blocks, now.lore) == ("The lamp is out.", NO_PROMPT_BLOCKS, ())
    now = await take(engine, session_id, one, "scenario, greeting-2,system,lore")
    assert slot_for(now, one, None).slot is slot
    assert now.tab1.chapter == "The lamp is out.\n\nA lighthouse.\n\nCome in."
    assert [(block.text, block.slots) for block in now.prompt_blocks.blocks] == [("Be brief.", (slot,))]
    assert [book.owner for book in now.lore] == [slot]
    opened = await engine.open(session_id)
    await opened.wait(await opened.lock())
    roster = [other for other, _ in opened.snapshot.session.roster]
    told = {}
    for other in roster:
        context = await engine.preview(session_id, other, "Who is there?")
        told[other] = "\n".join(part.text for part in context.segments)
    assert "Be brief." in told[slot]
    assert not any("Be brief." in text for other, text in told.items() if other is not slot)
    assert all("Come in." in text for text in told.values())
    await opened.aclose()


async def test_what_is_too_long_is_refused_and_nothing_of_the_rest_is_stored(store: PostgresStore) -> None:
    engine = engine_on(store)
    session_id, one = await chapter_with(engine, card(V3, system_prompt="s" * 4_001))
    before = await engine.reader(session_id).load(with_memory=True)
    with pytest.raises(IllegalCommandError, match="4,001"):
        await take(engine, session_id, one, "all")
    assert await engine.reader(session_id).load(with_memory=True) == before
    with pytest.raises(IllegalCommandError, match="nothing called “songs”; it has scenario, greeting"):
        await take(engine, session_id, one, "songs")
    with pytest.raises(IllegalCommandError, match="is in slot 1; choose another slot"):
        slot_for(before, one, Slot.RED)
