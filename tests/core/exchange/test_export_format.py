"""The versions of an export, and one form of JSON."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from core.domain.bank.details import LONGEST_MS
from core.domain.bank.item import ItemAccess
from core.domain.errors import StorageError
from core.domain.ids import ItemId, SessionId, new_uuid
from core.domain.slot import Slot
from core.engine.decisions import commands
from core.exchange.integrity.bank import problems_of_bank
from core.exchange.session_export import VERSION, ImportRefusedError, from_json, read_body, to_json
from core.text.canonical_json import canonical, checksum
from tests.core.exchange.test_export_refusals import signed
from tests.core.rooms.faulty_store import FaultyStore
from tests.core.rooms.simulation import active
from tests.core.values.sessions import session
from tests.store.in_memory.memory_calls import MemoryCalls

pytestmark = pytest.mark.anyio

WITH_BANK = Path(__file__).resolve().parents[2] / "corpus" / "versions" / "export-8-bank.json"


@pytest.mark.parametrize("version", [0, VERSION + 1, "1", 1.0, True, None])
def test_only_whole_numbers_that_this_program_reads_are_versions(version: object) -> None:
    document = {"format": "storyengine-session", "version": version, "sha256": "", "body": {}}
    with pytest.raises(ImportRefusedError, match="its version is"):
        from_json(json.dumps(document).encode())


def test_the_canonical_form_does_not_depend_on_the_order_of_keys_and_white_space() -> None:
    one, two = json.loads('{"b": 1, "a": ["é", 2]}'), json.loads('{"a":["\\u00e9",2],"b":1}')
    assert canonical(one) == canonical(two) == '{"a":["é",2],"b":1}'.encode()
    assert checksum(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical(float("nan"))


async def test_a_chapter_that_never_holds_still_is_not_read_half() -> None:
    store = FaultyStore(active().snapshot)

    class Restless(MemoryCalls):
        """Stores another text after every read."""

        async def contents(self, session_id: SessionId, hashes: Collection[str]) -> Mapping[str, str]:
            text = str(len(store.commits))
            store.apply(commands.save_unsent(store.snapshot, Slot.RED, text))
            return await super().contents(session_id, hashes)

    store.calls = Restless(store.database)
    with pytest.raises(StorageError, match="changes faster than it can be read"):
        await read_body(store, store.snapshot.session.id)
    assert len(store.commits) == 10, "it is tried five times"


def test_an_event_that_takes_years_in_the_story_is_exported_and_read_again() -> None:
    plain = json.loads(WITH_BANK.read_bytes())["body"]
    [lasting] = [item for item in plain["items"] if "duration_ms" in item["details"]]
    lasting["details"]["duration_ms"] = LONGEST_MS
    body = from_json(signed(plain))
    assert from_json(to_json(body)) == body


def test_an_item_whose_name_lost_a_lone_quotation_mark_is_exported_and_read_again() -> None:
    plain = json.loads(WITH_BANK.read_bytes())["body"]
    for item in plain["items"]:
        item["name"] = "Elle dit  bonjour"  # as earlier versions named what began with “Elle dit « bonjour”
    body = from_json(signed(plain))
    assert from_json(to_json(body)) == body


def test_a_recall_in_a_chapter_without_play_is_refused_in_a_sentence() -> None:
    access = ItemAccess(item_id=ItemId(new_uuid()), access_count=1, last_accessed=1)
    empty = session()
    assert list(problems_of_bank(empty, (), (access,), ())) == [
        "an item was recalled at a prompt that was not played"
    ]
