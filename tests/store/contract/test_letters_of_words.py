"""What a store promises of words whose letters Unicode can write otherwise."""

from dataclasses import replace

import pytest

from core.storage.session_store import SessionStore
from tests.store.contract.test_bank_contract import kept
from tests.store.contract.test_recall_contract import BOAT, KEY, asked, numbers, told

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("name", "typed"),
    [("Voß", "Voß"), ("VOẞ", "voß"), ("Σίσυφος", "σίσυφος"), ("İpek", "ipek"), ("ﬁnn", "ﬁnn")],
)
async def test_a_word_is_found_whose_lower_case_is_another_one_in_unicode(
    store: SessionStore, name: str, typed: str
) -> None:
    session, lease = await kept(store, told(KEY), replace(told(BOAT), name=name))
    assert numbers(await store.bank.recall(asked(session, f"So where is {name} now"))) == [BOAT]
    assert numbers(await store.bank.recall(asked(session, f"so where is {typed} now"))) == [BOAT]
    await lease.aclose()
