"""What a store promises of looking for words among items, on PostgreSQL and in memory."""

from dataclasses import replace
from typing import Any
from unicodedata import normalize

import pytest

from core.domain.bank.details import PersonDetails
from core.domain.bank.evidence import Evidence
from core.domain.bank.item import Item, Validation
from core.domain.ids import ItemId, new_uuid
from core.engine.recall.search import ITEMS_AT_ONCE, search
from core.engine.recall.texts import HitPlace
from core.engine.recall.words import matcher_of
from core.storage.session_store import SessionStore
from tests.core.values.bank import fact
from tests.store.chapters import with_items

pytestmark = pytest.mark.anyio
TEXTS = (
    "The brass key",
    "THE LAMP, at “Saint-Étienne”",
    normalize("NFD", "un café brûlé"),
    "Straße und Fluß",
    "Лампа на лестнице",
    "ΟΔΥΣΣΕΥΣ sails",
    "ırmak İstanbul \u212aelvin \u017fun",
    "灯と鍵",
    r'a "quoted" back\\slash 50% [of] (it)',
    "snake_case",
)


def item(prompt_index: int, **others: Any) -> Item:
    """Return an item of its own, of a prompt, whose proof has none of the words that are looked for."""
    proof = Evidence(prompt_index=prompt_index, ordinal=1, words="x", start=0, end=1)
    made = fact(1, prompt_index=prompt_index, name="x", text="x")
    made = replace(made, id=ItemId(new_uuid()), evidence=(proof,))
    return replace(made, **others)


@pytest.mark.parametrize(
    "text",
    [
        "key",
        "BRASS the",
        "lamp",
        "étienne",
        "CAFÉ",
        "brule",
        "straße",
        "strasse",
        "ЛАМП",
        "лестн",
        "οδυσσεύς",
        "οδυσσευσ",
        "irmak",
        "istanbul",
        "kelvin",
        "sun",
        "灯",
        "鍵",
        '"quoted"',
        "back\\\\slash",
        "50%",
        "[of]",
        "case",
        "zeppelin",
        "e",
    ],
)
async def test_no_item_that_has_the_words_of_a_search_is_left_out(store: SessionStore, text: str) -> None:
    items = [item(1, name=one) for one in TEXTS]
    items += [item(2, text=one) for one in TEXTS]
    items += [item(3, details=PersonDetails(relationship=one)) for one in TEXTS]
    session_id = (await with_items(store, *items)).id
    matches = matcher_of(text)
    assert matches is not None
    stored = await store.bank.items(session_id)
    having = await store.bank.having(session_id, matches.words, most=100)
    wanted = {one.id for one in stored if matches(" ".join((one.name, one.text, str(_relationship(one)))))}
    assert wanted <= {one.id for one in having}
    assert [(one.prompt_index, one.id) for one in having] == sorted(
        ((one.prompt_index, one.id) for one in having), reverse=True
    )


def _relationship(item: Item) -> str:
    return item.details.relationship if isinstance(item.details, PersonDetails) else ""


async def test_items_with_the_words_come_in_parts_the_newest_first_and_only_those_that_count(
    store: SessionStore,
) -> None:
    items = [item(number % 3 + 1, text=f"A brass key, {number}.") for number in range(7)]
    items[3] = replace(items[3], validation=Validation.REJECTED)
    session_id = (await with_items(store, *items, item(2, text="A lamp."))).id
    whole = await store.bank.having(session_id, ["KEY", "brass"], most=100)
    assert {one.id for one in whole} == {one.id for one in items if one.validation is not Validation.REJECTED}
    parts = [await store.bank.having(session_id, ["key"], most=4, skipped=first) for first in (0, 4, 8)]
    assert [len(part) for part in parts] == [4, 2, 0]
    assert [one.id for part in parts for one in part] == [one.id for one in whole]


async def test_an_item_is_found_behind_more_that_have_the_letters_within_other_words(
    store: SessionStore,
) -> None:
    older = item(1, text="He has an anvil.")
    many = [item(2, text="It hangs there.") for _ in range(ITEMS_AT_ONCE + 1)]
    session_id = (await with_items(store, older, *many)).id
    hits = (await search(store, [session_id], "an")).hits
    assert [hit.source for hit in hits if hit.place is HitPlace.BANK] == [str(older.id)]
