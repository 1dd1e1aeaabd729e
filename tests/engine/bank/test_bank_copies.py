"""What becomes of a memory bank in exports, branches and save points."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from core.config.models.assignments import defaults_for
from core.domain.audience import Audience
from core.domain.bank.evidence import Evidence
from core.domain.bank.item import Item, ItemAccess, ItemOrigin, Validation
from core.domain.ids import ItemId, SessionId, new_uuid
from core.domain.requests.request import RequestState
from core.domain.session.language import Language
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.exchange.session_export import (
    ImportRefusedError,
    SessionBody,
    from_json,
    read_body,
    to_json,
)
from core.providers.base import ModelRequest
from core.providers.scripted.provider import ScriptedProvider
from core.providers.scripted.script import Entry, ScriptMatch
from core.storage.changes import Changes
from db.store import PostgresStore
from tests.core.exchange.test_export_refusals import signed
from tests.core.rooms.bank_room import fact as found_fact
from tests.core.rooms.bank_room import read, scan
from tests.core.values.bank import NOW, WHOLE, fact, whole_items
from tests.engine.windows import GatedModel, chapter, done, play, scripted
from tests.store import chapters

pytestmark = pytest.mark.anyio

SAID = "I walk on"


def engine_on(store: PostgresStore) -> Engine:
    return Engine(store, ScriptedProvider(), defaults_for("scripted"), label="here")


def drawn(session: Session, prompt_index: int) -> Item:
    """Return an item with its proof in the reply to a prompt of `chapters.play`."""
    proof = Evidence(prompt_index=prompt_index, ordinal=1, words=SAID, start=0, end=len(SAID))
    item = fact(session_id=session.id, prompt_index=prompt_index)
    return replace(item, id=ItemId(new_uuid()), evidence=(proof,))


async def played(store: PostgresStore) -> tuple[SessionId, list[Item]]:
    """Store a chapter of three prompts with an item of each, one of the GM's own, and a recall."""
    async with chapter(store, scripted(Entry(text=f"{SAID} to the shore."))) as handle:
        await play(handle, 3)
        session = handle.snapshot.session
    lease = await chapters.taken(store, session.id)
    items = [drawn(session, index) for index in (1, 2, 3)]
    items[2] = replace(items[2], supersedes=items[0].id)
    own = replace(drawn(session, 0), evidence=(), take=None, origin=ItemOrigin.GM, is_by_gm=True)
    recall = ItemAccess(item_id=items[0].id, access_count=2, last_accessed=3)
    kept = replace(session, keeps_bank=True, language=Language.FRENCH)
    changes = Changes(session_id=session.id, session=kept, items=(*items, own), accesses=(recall,))
    await store.commit(changes, lease)
    await lease.aclose()
    changed = replace(items[1].next_version(NOW + timedelta(hours=1)), text="The GM says so.")
    await store.bank.put([changed])
    return session.id, [items[0], changed, items[2], own]


def texts(items: list[Item]) -> list[tuple[int, str]]:
    return [(item.prompt_index, item.text) for item in items]


async def test_details_are_exported_and_branched_whole_and_what_is_unset_is_left_out(
    store: PostgresStore,
) -> None:
    session_id, _ = await played(store)
    before = json.loads(to_json(await read_body(store, session_id)))
    assert all(one["details"] == {"kind": "fact"} for one in before["body"]["items"])
    lease = await chapters.taken(store, session_id)
    await store.commit(Changes(session_id=session_id, items=whole_items(session_id)), lease)
    await lease.aclose()
    body = await read_body(store, session_id)
    assert from_json(to_json(body)) == body
    fresh = await engine_on(store).import_body(from_json(to_json(body)))
    kept = [one.details for one in (await read_body(store, fresh)).items if one.details in WHOLE]
    assert sorted(kept, key=WHOLE.index) == list(WHOLE)
    branched = await engine_on(store).branch(session_id, 3)
    copied = [one.details for one in await store.bank.items(branched) if one.details in WHOLE]
    assert sorted(copied, key=WHOLE.index) == list(WHOLE)


async def test_an_export_is_of_the_version_that_has_what_is_in_it(store: PostgresStore) -> None:
    session_id, _ = await played(store)
    body = await read_body(store, session_id)
    english = replace(body, session=replace(body.session, language=Language.ENGLISH))
    detailed = replace(english, items=(*body.items, *whole_items(session_id)))
    versions = [json.loads(to_json(one))["version"] for one in (english, body, detailed)]
    assert versions == [7, 8, 8]


async def test_an_export_whose_quote_proves_an_item_that_is_missing_is_refused(store: PostgresStore) -> None:
    session_id, _ = await played(store)
    body = await read_body(store, session_id)
    forged = replace(body, items=(*body.items, whole_items(session_id)[-1]))
    with pytest.raises(ImportRefusedError, match="a quote proves an item that is missing"):
        from_json(to_json(forged))


async def test_an_export_has_every_version_and_an_import_brings_all_of_it_back(store: PostgresStore) -> None:
    session_id, items = await played(store)
    body = await read_body(store, session_id)
    assert len(body.items) == 5
    assert from_json(to_json(body)) == body
    fresh = await engine_on(store).import_body(from_json(to_json(body)))
    again = await read_body(store, fresh)
    assert again.items == tuple(replace(item, session_id=fresh) for item in body.items)
    assert again.accesses == body.accesses
    assert again.session.keeps_bank
    assert again.session.language is Language.FRENCH
    counted = [item.id for item in await store.bank.items(fresh)]
    assert counted == [item.id for item in await store.bank.items(session_id)]
    assert items[0].id not in counted


async def test_a_branch_has_the_bank_of_its_last_prompt(store: PostgresStore) -> None:
    session_id, items = await played(store)
    fresh = await engine_on(store).branch(session_id, 2)
    found = list(await store.bank.items(fresh))
    assert (await store.load(fresh)).session.language is Language.FRENCH
    own, first, second = items[3], items[0], items[1]
    assert texts(found) == texts([own, first, second])
    assert {item.version for item in found} == {1}
    assert len(await store.bank.items(session_id)) == 3


async def test_a_save_point_brings_the_bank_back_as_it_was(store: PostgresStore) -> None:
    session_id, _ = await played(store)
    engine = engine_on(store)
    before = texts(list(await store.bank.items(session_id)))
    slot = await engine.save_points.keep(session_id, "Before")
    newest = (await store.bank.items(session_id))[-1]
    later = slot.taken_at + timedelta(minutes=1)
    await store.bank.put([replace(newest.next_version(later), validation=Validation.REJECTED)])
    assert texts(list(await store.bank.items(session_id))) != before
    fresh = await engine.save_points.restore(session_id, slot.number)
    assert texts(list(await store.bank.items(fresh))) == before


async def test_a_purge_deletes_the_bank(store: PostgresStore) -> None:
    session_id, _ = await played(store)
    await store.chapters.archive(session_id, NOW)
    await store.chapters.purge(session_id)
    assert not await store.bank.history(session_id)
    assert not await store.bank.accesses(session_id)


def forged(body: SessionBody, **changes: object) -> bytes:
    """Return an export with its first item changed, and the checksum that fits."""
    plain = json.loads(to_json(body))["body"]
    plain["items"][0].update(changes)
    return signed(plain)


PROOF = {"prompt_index": 1, "take": 1, "ordinal": 1, "words": SAID, "start": 0, "end": len(SAID)}


FORGERIES: tuple[tuple[dict[str, object], str], ...] = (
    ({"evidence": [{**PROOF, "words": "I never said"}]}, "not proved"),
    ({"evidence": [{**PROOF, "start": 3}]}, "not proved"),
    ({"evidence": [{**PROOF, "ordinal": 5}]}, "not proved"),
    ({"evidence": []}, "not proved"),
    ({"take": 2}, "not proved"),
    ({"version": 2}, "gaps"),
    ({"importance": 3}, "0 to 1"),
    ({"name": ""}, "name of 1"),
    ({"merged_into": str(UUID(int=9))}, "missing"),
    ({"label": [9]}, "items.0.label"),
    ({"details": {"kind": "spell"}}, "items.0.details"),
    ({"text": "\u001b[31mred"}, "escape"),
    ({"updated_at": "0001-01-01T00:00:00Z"}, "time"),
    ({"session_id": str(UUID(int=9))}, "more than one chapter"),
)


async def test_a_forged_bank_is_refused_with_its_reason(store: PostgresStore) -> None:
    session_id, items = await played(store)
    body = await read_body(store, session_id)
    # The first item of the file is the first of the story.
    body = replace(body, items=tuple(sorted(body.items, key=lambda item: item.id != items[0].id)))
    assert from_json(forged(body)) == body
    for changes, reason in FORGERIES:
        print(changes)
        with pytest.raises(ImportRefusedError, match=reason):
            from_json(forged(body, **changes))


async def test_what_an_item_replaces_of_an_earlier_chapter_is_not_in_its_file_and_stays_named(
    store: PostgresStore,
) -> None:
    session_id, _ = await played(store)
    plain = forged(await read_body(store, session_id), supersedes=str(UUID(int=9)))
    assert UUID(int=9) in {item.supersedes for item in from_json(plain).items}


async def test_a_private_item_is_proved_by_what_its_label_heard(store: PostgresStore) -> None:
    async with chapter(store, scripted(Entry(text=f"{SAID} to the shore."))) as handle:
        await done(handle, await handle.submit_prompt(Slot.RED, "And?", heard_by=Audience.of((Slot.RED,))))
        session = handle.snapshot.session
    private = replace(drawn(session, 1), label=Audience.of((Slot.RED,)))
    await store.bank.put([private])
    body = await read_body(store, session.id)
    assert from_json(to_json(body)) == body
    widened = replace(body, items=(replace(private, label=Audience()),))
    with pytest.raises(ImportRefusedError, match="not proved"):
        from_json(to_json(widened))


async def test_a_save_point_that_is_taken_while_play_is_read_for_the_bank_has_nothing_of_that_reading(
    store: PostgresStore,
) -> None:
    is_read = asyncio.Event()

    def is_scan(call: ModelRequest) -> bool:
        if call.schema is None or call.schema.name != "bank_scan":
            return False
        is_read.set()
        return True

    shore = found_fact("the shore", name="The shore", text="They walk on to the shore.")
    reply = Entry(match=ScriptMatch(schema="text"), text=f"{SAID} to the shore.")
    model = GatedModel(scripted(scan(facts=[shore]), reply), when=is_scan)
    async with chapter(store, model, chunk_size=1) as handle:
        await handle.keeping.keep(is_on=True)
        await done(handle, await handle.submit_prompt(Slot.RED, "And?"))
        await is_read.wait()
        slot = await engine_on(store).save_points.keep(handle.id, "While it is read")
        model.gate.set()
        await read(handle)
        assert [item.name for item in await handle.bank.items()] == ["The shore"]
    fresh = await engine_on(store).save_points.restore(handle.id, slot.number)
    assert [one.state for one in (await store.load(fresh)).background] == [RequestState.PENDING]
    assert await store.bank.items(fresh) == []


async def test_an_export_lists_what_was_recalled_in_one_order_whichever_was_recalled_last(
    store: PostgresStore,
) -> None:
    session_id, items = await played(store)
    lease = await chapters.taken(store, session_id)
    for recalled in (items[2], items[0], items[1], items[0]):
        access = ItemAccess(item_id=recalled.id, access_count=3, last_accessed=3)
        await store.commit(Changes(session_id=session_id, accesses=(access,)), lease)
    await lease.aclose()
    listed = [one.item_id for one in (await read_body(store, session_id)).accesses]
    assert listed == sorted(item.id for item in items[:3])


async def test_a_branch_and_a_restored_chapter_know_what_was_recalled_up_to_there(
    store: PostgresStore,
) -> None:
    shore = found_fact("the shore", name="The shore", text="They walk on to the shore.")
    reply = Entry(match=ScriptMatch(schema="text"), text=f"{SAID} to the shore.")
    async with chapter(store, scripted(scan(facts=[shore]), reply), chunk_size=1) as handle:
        await handle.keeping.keep(is_on=True)
        for _ in range(3):
            await done(handle, await handle.submit_prompt(Slot.RED, "And the shore?"))
            await read(handle)
        recalled = await store.bank.accesses(handle.id)
        slot = await engine_on(store).save_points.keep(handle.id, "Three")
        await done(handle, await handle.submit_prompt(Slot.RED, "Where is the shore?"))
        await read(handle)
        assert await store.bank.accesses(handle.id) != recalled
    assert {one.last_accessed for one in recalled.values()} == {3}
    engine = engine_on(store)
    for copied in (
        await engine.branch(handle.id, 3),
        await engine.save_points.restore(handle.id, slot.number),
    ):
        assert await store.bank.accesses(copied) == recalled
