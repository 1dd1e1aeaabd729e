"""What the GM does with items of the bank, on PostgreSQL and in memory: each change is kept and undone."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest

from core.domain.audience import EVERYONE, NOBODY, Audience
from core.domain.bank.checks import LAST_PROMPT
from core.domain.bank.details import (
    Aspect,
    FactDetails,
    PlaceDetails,
    QuoteDetails,
    StateDetails,
    ThreadDetails,
)
from core.domain.bank.item import Item, Validation
from core.domain.errors import ChangedElsewhereError, IllegalCommandError
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.engine.services.bank.bank import NO_BANK, NO_THREAD, Bank
from core.engine.services.bank.item_changes import (
    FEW_TO_MERGE,
    MERGED_ALREADY,
    NO_WIDER,
    NO_WORDS,
    OTHER_CHAPTER,
    OTHER_KIND,
    REJECTED_ONE,
    NewItem,
)
from core.engine.services.bank.undo import NOTHING_TO_REDO, NOTHING_TO_UNDO
from core.storage.changes import Changes
from core.storage.session_store import SessionStore
from tests.core.values.bank import NOW, fact
from tests.store import chapters

pytestmark = pytest.mark.anyio
KARA = Audience.of((Slot.RED,))
JONAS = Audience.of((Slot.ORANGE,))


def ticking() -> Callable[[], datetime]:
    """Return a clock that goes on by a second with each look."""
    ticks = count(1)
    return lambda: NOW + timedelta(seconds=next(ticks))


async def bank_of(store: SessionStore, *items: Item) -> tuple[Bank, Session]:
    """Return the bank of a chapter of three prompts that has these items."""
    session, lease = await chapters.locked_session(store, keeps_bank=True)
    session = await chapters.play(store, session, lease, 3)
    moved = tuple(replace(item, session_id=session.id) for item in items)
    await store.commit(Changes(session_id=session.id, items=moved), lease)
    await lease.aclose()
    return Bank(store.bank, session.id, ticking(), nullcontext), session


async def validations(bank: Bank) -> list[str]:
    return [item.validation.value for item in await bank.items(with_all=True)]


async def test_several_items_are_confirmed_pinned_and_rejected_at_once_and_each_change_is_kept(
    store: SessionStore,
) -> None:
    bank, _ = await bank_of(store, fact(1), fact(2), fact(3))
    items = await bank.items()
    await bank.confirm(items[:2])
    await bank.pin(await bank.items())
    await bank.reject([(await bank.items())[2]])
    assert await validations(bank) == ["confirmed", "confirmed", "rejected"]
    assert [item.id for item in await bank.items()] == [items[0].id, items[1].id]
    history = await bank.history(items[0])
    assert [(one.version, one.validation.value, one.is_pinned) for one in history] == [
        (1, "none", False),
        (2, "confirmed", False),
        (3, "confirmed", True),
    ]
    assert len({one.updated_at for one in history}) == 3


async def test_changes_are_undone_and_redone_one_after_the_other_by_another_window_too(
    store: SessionStore,
) -> None:
    bank, session = await bank_of(store, fact(1), fact(2))
    await bank.confirm(await bank.items())
    await bank.pin((await bank.items())[:1])
    again = Bank(store.bank, session.id, ticking(), nullcontext)  # As after a restart.
    again._clock = lambda: NOW + timedelta(hours=1)
    assert len(await again.undo()) == 1
    assert [item.is_pinned for item in await again.items()] == [False, False]
    again._clock = lambda: NOW + timedelta(hours=2)
    assert len(await again.undo()) == 2
    # What was new has been looked at.
    assert await validations(again) == ["seen", "seen"]
    with pytest.raises(IllegalCommandError, match=NOTHING_TO_UNDO):
        await again.undo()
    again._clock = lambda: NOW + timedelta(hours=3)
    await again.redo()
    assert await validations(again) == ["confirmed", "confirmed"]
    again._clock = lambda: NOW + timedelta(hours=4)
    await again.redo()
    assert [item.is_pinned for item in await again.items()] == [True, False]
    with pytest.raises(IllegalCommandError, match=NOTHING_TO_REDO):
        await again.redo()
    again._clock = lambda: NOW + timedelta(hours=5)
    await again.undo()
    assert [item.is_pinned for item in await again.items()] == [False, False]
    again._clock = lambda: NOW + timedelta(hours=6)
    await again.reject((await again.items())[:1])
    with pytest.raises(IllegalCommandError, match=NOTHING_TO_REDO):
        await again.redo()


async def test_a_pin_that_was_released_is_undone_to_a_pin(store: SessionStore) -> None:
    bank, _ = await bank_of(store, fact(1))
    await bank.pin(await bank.items())
    await bank.pin(await bank.items(), is_on=False)
    await bank.undo()
    assert [item.is_pinned for item in await bank.items()] == [True]
    await bank.undo()
    assert [item.is_pinned for item in await bank.items()] == [False]


async def test_that_items_were_looked_at_is_kept_and_is_not_what_undo_undoes(store: SessionStore) -> None:
    bank, _ = await bank_of(store, fact(1), fact(2))
    await bank.pin((await bank.items())[:1])
    await bank.mark_seen(await bank.items())
    await bank.mark_seen(await bank.items())
    assert [item.version for item in await bank.items()] == [3, 2]
    await bank.undo()
    assert [(item.is_pinned, item.validation) for item in await bank.items()] == [
        (False, Validation.SEEN),
        (False, Validation.SEEN),
    ]
    with pytest.raises(IllegalCommandError, match=NOTHING_TO_UNDO):
        await bank.undo()


async def test_the_words_of_the_gm_are_kept_and_the_label_stays(
    store: SessionStore,
) -> None:
    bank, session = await bank_of(store, fact(1, label=KARA))
    (item,) = await bank.items()
    typed = replace(
        item, name=" The \x1b[31mkey\n", text="Kara wears it.\x00 ", label=EVERYONE, details=PlaceDetails()
    )
    edited = await bank.edit(item, typed)
    assert (edited.name, edited.text, edited.details) == ("The key", "Kara wears it.", item.details)
    assert (edited.label, edited.is_by_gm) == (KARA, True)
    with pytest.raises(ChangedElsewhereError):
        await bank.edit(item, replace(item, text="Words for what was there before."))
    await bank.pin([edited])
    edited = await bank.edit(edited, replace(edited, text="Kara wears it, still."))
    assert (edited.text, edited.is_pinned) == ("Kara wears it, still.", True)
    with pytest.raises(IllegalCommandError, match="a text of 1 to 2,000 characters"):
        await bank.edit(edited, replace(edited, text=" \n"))
    with pytest.raises(IllegalCommandError, match="a name of 1 to 200 characters"):
        await bank.edit(edited, replace(edited, name="x" * 201))
    own = await bank.add(session, NewItem("A rule", "No magic.", FactDetails(), KARA))
    assert (await bank.edit(own, replace(own, text="No magic at all.", label=EVERYONE))).label == KARA


async def test_the_gm_sets_how_an_item_is_recalled_and_undo_takes_that_back(store: SessionStore) -> None:
    bank, _ = await bank_of(store, replace(fact(1), details=StateDetails(aspect=Aspect.WOUND)))
    [drawn] = await bank.items()
    typed = replace(drawn, confidence=0.9, importance=0.7, decay_rate=0.0, expires_at=40)
    changed = await bank.edit(drawn, typed)
    assert list(await bank.items()) == [changed]
    assert (changed.confidence, changed.importance, changed.decay_rate, changed.expires_at) == (
        0.9,
        0.7,
        0,
        40,
    )
    assert not changed.is_by_gm, "the words are as a model drew them, and newer ones may replace them"
    over = replace(changed, about=Slot.ORANGE, details=StateDetails(aspect=Aspect.WOUND, is_over=True))
    stored = await bank.edit(changed, over)
    assert (stored.about, stored.details, stored.is_by_gm) == (Slot.ORANGE, over.details, True)
    assert [one.version for one in await bank.history(drawn)] == [1, 2, 3]
    await bank.undo()
    await bank.undo()
    [now] = await bank.items()
    assert (
        replace(now, version=1, validation=drawn.validation, updated_at=drawn.updated_at, undoes=None)
        == drawn
    )
    for wrong in (
        {"confidence": 1.5},
        {"decay_rate": -0.1},
        {"expires_at": LAST_PROMPT + 1},
        {"expires_at": -1},
    ):
        with pytest.raises(IllegalCommandError, match="0 to"):
            await bank.edit(now, replace(now, **wrong))
    assert list(await bank.items()) == [now]


async def test_a_change_of_what_an_undone_prompt_had_is_passed_over_by_undo(store: SessionStore) -> None:
    bank, session = await bank_of(store, fact(1, prompt_index=1), fact(2, prompt_index=3))
    early, late = await bank.items()
    await bank.pin([early])
    await bank.reject([late])
    lease = await chapters.taken(store, session.id)
    undone = replace(session, prompt_index=2, canon_version=session.canon_version + 1)
    await store.commit(Changes(session_id=session.id, session=undone), lease)
    await lease.aclose()
    assert [item.id for item in await bank.undo()] == [early.id]
    with pytest.raises(IllegalCommandError, match=NOTHING_TO_UNDO):
        await bank.undo()
    assert [item.is_pinned for item in await bank.redo()] == [True]
    stored = {item.id: item.validation for item in await bank.items(with_all=True)}
    assert stored[late.id] is Validation.REJECTED, "it is as it was when its prompt is done again"


async def test_a_quote_is_kept_once_and_has_no_words_but_those_of_its_proof(store: SessionStore) -> None:
    bank, session = await bank_of(store)
    event = chapters.reply(session, 3, "I hid it. Nobody will look there, she said.")
    quote = await bank.quote(session, event, "Nobody will look there")
    with pytest.raises(IllegalCommandError, match="kept as a quote already"):
        await bank.quote(session, event, "“Nobody will look there,”")
    with pytest.raises(IllegalCommandError, match="words of its proof"):
        await bank.edit(quote, replace(quote, text="Everybody will look there"))
    shorter = await bank.edit(quote, replace(quote, text="will look there", name="Kara, of the key"))
    assert [item.text for item in await bank.items()] == [shorter.text] == ["will look there"]
    await bank.reject([shorter])
    again = await bank.quote(session, event, "Nobody will look there")
    assert [item.id for item in await bank.items()] == [again.id], "what was taken out is not in the way"


async def test_an_item_that_nobody_would_know_is_refused(store: SessionStore) -> None:
    bank, session = await bank_of(store)
    absent = Audience.of(set(Slot) - set(session.slots))
    for label in (NOBODY, absent):
        with pytest.raises(IllegalCommandError, match="No character would know it"):
            await bank.add(session, NewItem("A rule", "No magic.", FactDetails(), label))
    assert not await bank.items(with_all=True)


async def test_a_change_is_made_of_what_another_window_made_of_the_item(store: SessionStore) -> None:
    bank, session = await bank_of(store, fact(1))
    old = await bank.items()
    other = Bank(store.bank, session.id, ticking(), nullcontext)
    await other.edit(old[0], replace(old[0], text="Other words."))
    await bank.pin(old)
    (item,) = await bank.items()
    assert (item.text, item.is_pinned, item.version) == ("Other words.", True, 3)


async def test_an_undo_is_made_of_what_another_window_stored_while_it_was_being_made(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank, session = await bank_of(store, fact(1))
    await bank.pin(await bank.items())
    other = Bank(store.bank, session.id, ticking(), nullcontext)
    versions = store.bank.versions

    async def seen_meanwhile(*asked: Any) -> Any:
        monkeypatch.undo()
        await other.mark_seen(await other.items())
        return await versions(*asked)

    monkeypatch.setattr(store.bank, "versions", seen_meanwhile)
    await bank.undo()
    (item,) = await bank.items()
    assert not item.is_pinned


async def test_items_are_merged_into_the_one_that_most_may_know(store: SessionStore) -> None:
    narrow = replace(fact(1, label=KARA, prompt_index=2), importance=0.9, is_pinned=True)
    bank, _ = await bank_of(store, narrow, fact(2, prompt_index=3), fact(3, prompt_index=2))
    items = {item.id.int: item for item in await bank.items()}
    kept = await bank.merge([items[1], items[2], items[3]])
    # Of two that everyone knows the newest: what it says is taken back with its prompt.
    assert (kept.id.int, kept.label, kept.is_pinned, kept.importance) == (2, EVERYONE, True, 0.9)
    assert [one.prompt_index for one in kept.evidence] == [3, 2]
    assert [item.id.int for item in await bank.items()] == [2]
    with pytest.raises(IllegalCommandError, match=MERGED_ALREADY):
        await bank.merge(await bank.items(with_all=True))
    await bank.undo()
    assert sorted(item.id.int for item in await bank.items()) == [1, 2, 3]


async def test_a_merge_that_would_tell_a_character_a_secret_is_refused_with_the_reason(
    store: SessionStore,
) -> None:
    place = replace(fact(3), details=PlaceDetails())
    bank, _ = await bank_of(store, fact(1, label=KARA), fact(2, label=JONAS), place, fact(4))
    one, other, third, fourth = sorted(await bank.items(), key=lambda item: item.id)
    for items, why in (([one, other], NO_WIDER), ([one], FEW_TO_MERGE), ([third, fourth], OTHER_KIND)):
        with pytest.raises(IllegalCommandError) as refused:
            await bank.merge(items)
        assert refused.value.message == why
    assert len(await bank.items()) == 4


async def test_a_rejected_item_is_not_merged_since_it_would_count_again(store: SessionStore) -> None:
    bank, _ = await bank_of(store, fact(1, prompt_index=2), fact(2, prompt_index=3))
    await bank.reject([(await bank.items())[-1]])
    with pytest.raises(IllegalCommandError, match=REJECTED_ONE):
        await bank.merge(await bank.items(with_all=True))
    assert [item.id.int for item in await bank.items()] == [1]


async def test_a_thread_is_closed_and_no_model_opens_it_again(store: SessionStore) -> None:
    thread = replace(fact(1), details=ThreadDetails(stakes="The post."))
    bank, _ = await bank_of(store, thread, fact(2))
    await bank.close(await bank.items())
    thread, other = sorted(await bank.items(), key=lambda item: item.id)
    assert isinstance(thread.details, ThreadDetails)
    assert thread.details.is_closed
    assert thread.is_by_gm
    assert other.version == 1
    await bank.undo()
    (thread, other) = sorted(await bank.items(), key=lambda item: item.id)
    assert isinstance(thread.details, ThreadDetails)
    assert not thread.details.is_closed
    with pytest.raises(IllegalCommandError, match=NO_THREAD):
        await bank.close([other])


async def test_the_gm_adds_an_item_which_undo_takes_out_and_redo_brings_back(store: SessionStore) -> None:
    bank, session = await bank_of(store)
    added = await bank.add(session, NewItem("The inn", "It has a cellar.", PlaceDetails(), KARA))
    assert (added.take, added.label, added.validation) == (None, KARA, Validation.CONFIRMED)
    assert list(await bank.items()) == [added]
    await bank.undo()
    assert not await bank.items()
    await bank.redo()
    assert [item.name for item in await bank.items()] == ["The inn"]
    with pytest.raises(IllegalCommandError, match=NO_BANK):
        await bank.add(replace(session, keeps_bank=False), NewItem("a", "b", FactDetails()))


async def test_words_of_an_event_become_a_quote_for_those_who_heard_them(store: SessionStore) -> None:
    bank, session = await bank_of(store)
    event = replace(
        chapters.reply(session, 3, "I hid it. “Nobody\n will look there,” she said."), audience=KARA
    )
    quote = await bank.quote(session, event, "Nobody will look there")
    (proof,) = quote.evidence
    assert quote.text == "Nobody\n will look there" == event.text[proof.start : proof.end]
    assert (quote.label, quote.take, quote.prompt_index, proof.place) == (KARA, 1, 3, (3, 1, 1))
    assert isinstance(quote.details, QuoteDetails)
    assert quote.details.speaker == session.name_of(Slot.RED)
    assert [item.id for item in await bank.items()] == [quote.id]
    for words in ("She never said this.", "a", ""):
        with pytest.raises(IllegalCommandError) as refused:
            await bank.quote(session, event, words)
        assert refused.value.message == NO_WORDS


async def test_items_of_an_earlier_chapter_are_changed_from_a_later_one(store: SessionStore) -> None:
    earlier, _ = await bank_of(store, fact(1))
    later, _ = await bank_of(store, fact(2))
    both = [*await earlier.items(), *await later.items()]
    await later.confirm(both)
    assert [item.validation for item in (*await earlier.items(), *await later.items())] == [
        Validation.CONFIRMED,
        Validation.CONFIRMED,
    ]
    with pytest.raises(IllegalCommandError) as refused:
        await later.merge(both)
    assert refused.value.message == OTHER_CHAPTER
    # Each chapter undoes what was changed of its own items.
    await earlier.undo()
    assert [item.validation for item in (*await earlier.items(), *await later.items())] == [
        Validation.SEEN,
        Validation.CONFIRMED,
    ]
