"""What a store promises of items that a later chapter of a book replaces, on PostgreSQL and in memory."""

from dataclasses import replace

import pytest

from core.domain.audience import Audience
from core.domain.bank.item import Replacement, Validation
from core.domain.slot import Slot
from core.storage.changes import Changes
from core.storage.session_store import SessionStore
from tests.core.values.bank import NOW, fact
from tests.store.contract.test_bank_contract import kept

pytestmark = pytest.mark.anyio
OLD, NEW = fact(1, prompt_index=1), replace(fact(2, prompt_index=3), supersedes=fact(1).id)


async def test_what_a_later_chapter_replaces_is_known_while_that_counts_and_the_earlier_stays(
    store: SessionStore,
) -> None:
    first, lease = await kept(store, OLD)
    await lease.aclose()
    alone = Audience.of((Slot.RED,))
    second, lease = await kept(store, replace(NEW, label=alone))
    ids = (first.id, second.id)
    expected = Replacement(item_id=OLD.id, session_id=first.id, replaced_in=second.id, label=alone)
    assert list(await store.bank.replacements(ids)) == [expected]
    assert list(await store.bank.replacements(ids, [OLD.id])) == [expected]
    assert not await store.bank.replacements(ids, [NEW.id])
    assert not await store.bank.replacements(ids[:1])
    assert not await store.bank.replacements(ids[1:])
    assert [item.id for item in await store.bank.items(first.id)] == [OLD.id]
    undone = replace(second, prompt_index=2, canon_version=second.canon_version + 1)
    await store.commit(Changes(session_id=second.id, session=undone), lease)
    assert not await store.bank.replacements(ids)
    await lease.aclose()


async def test_what_was_rejected_replaces_nothing_nor_does_a_model_what_the_gm_wrote(
    store: SessionStore,
) -> None:
    first, lease = await kept(store, OLD)
    await lease.aclose()
    second, lease = await kept(store, NEW, fact(3, prompt_index=3))
    ids = (first.id, second.id)
    [new, same] = await store.bank.items(second.id)
    merged = replace(new.next_version(NOW), merged_into=same.id)
    await store.bank.put([merged])
    assert len(await store.bank.replacements(ids)) == 1, "it goes on in another"
    new = replace(merged.next_version(NOW), merged_into=None)
    await store.bank.put([new])
    await store.bank.put([replace(new.next_version(NOW), validation=Validation.REJECTED)])
    assert not await store.bank.replacements(ids)
    [out] = await store.bank.taken_out(second.id)
    await store.bank.put([replace(out.next_version(NOW), validation=Validation.SEEN)])
    assert len(await store.bank.replacements(ids)) == 1
    [old] = await store.bank.items(first.id)
    await store.bank.put([replace(old.next_version(NOW), is_by_gm=True)])
    assert not await store.bank.replacements(ids)
    await lease.aclose()
