"""Keys that come while a change of the bank is still being stored: none is lost, doubled or out of order."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from core.domain.bank.item import Item, Validation
from storyengine_tui.screens.bank.item_commands import SO_ALREADY
from storyengine_tui.screens.bank.item_modal import AddItemModal, ItemFieldsModal, ItemModal
from tests.tui.chapters.banked_chapter import by_number
from tests.tui.engine_app import Desktop
from tests.tui.rooms.bank_tab import Tab, tab3

pytestmark = pytest.mark.anyio


class SlowStore:
    """Holds the first change back: before it is stored, or before the program hears that it is."""

    def __init__(self, tab: Tab, patch: pytest.MonkeyPatch, *, is_stored: bool) -> None:
        self.has_begun, self.may_end = asyncio.Event(), asyncio.Event()
        store: Any = tab.bank._store
        put = store.put

        async def held(items: Sequence[Item]) -> None:
            is_first = not self.has_begun.is_set()
            if is_stored or not is_first:
                await put(items)
            self.has_begun.set()
            if is_first:
                await self.may_end.wait()
                if not is_stored:
                    await put(items)

        patch.setattr(store, "put", held)


async def test_an_undo_that_is_typed_at_once_undoes_the_change_before_it(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tab3(desktop, shown="4") as tab:
        await tab.press("p")
        await tab.said("Pinned: 1 item")
        slow = SlowStore(tab, monkeypatch, is_stored=False)
        await tab.press("c", "u")
        await slow.has_begun.wait()
        slow.may_end.set()
        await tab.said("Undone for “")
        stair = await tab.stored(3)
        assert stair.is_pinned
        assert stair.validation is not Validation.CONFIRMED


async def test_the_same_key_twice_at_once_says_that_it_is_so_already(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tab3(desktop, shown="4") as tab:
        slow = SlowStore(tab, monkeypatch, is_stored=False)
        await tab.press("c", "c")
        await slow.has_begun.wait()
        slow.may_end.set()
        await tab.said(SO_ALREADY)
        assert (await tab.stored(3)).validation is Validation.CONFIRMED


async def test_what_is_saved_twice_at_once_is_stored_once_and_takes_no_more_text(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tab3(desktop, shown="4") as tab:
        before = len(await tab.bank.items(with_all=True))
        for key, words, said in (("plus", "tab", "Added"), ("e", "shift+tab", "Saved")):
            await tab.press(key)
            await tab.until(lambda: isinstance(tab.app.screen, AddItemModal | ItemModal))
            await tab.press(*"Dark", words, *"Mill")
            slow = SlowStore(tab, monkeypatch, is_stored=True)
            await tab.press("ctrl+s")
            await slow.has_begun.wait()
            form = tab.app.screen
            assert isinstance(form, ItemFieldsModal)
            typed = form.typed
            await tab.press("ctrl+s", "z")
            assert form.typed == typed, "a text was taken that would not be stored"
            slow.may_end.set()
            await tab.said(said)
            assert len(await tab.bank.items(with_all=True)) == before + 1, "one was added"


@pytest.mark.parametrize("is_forced", [False, True], ids=["ctrl+q", "a signal"])
async def test_changes_that_wait_for_their_turn_are_stored_before_the_program_ends(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch, is_forced: bool
) -> None:
    async with tab3(desktop, shown="4") as tab:
        slow = SlowStore(tab, monkeypatch, is_stored=False)
        await tab.press("c", "p")
        await slow.has_begun.wait()
        bank = tab.bank
        tab.app.action_leave(is_forced=is_forced)
        await tab.until(lambda: tab.app._is_leaving)
        for _ in range(5):
            await tab.pilot.pause()
        assert tab.app.is_running
        slow.may_end.set()
        await tab.until(lambda: not tab.app.is_running)
        stair = by_number(await bank.items(with_all=True), 3)
        assert stair.validation is Validation.CONFIRMED
        assert stair.is_pinned


async def test_a_change_that_is_never_stored_does_not_keep_the_program_open(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storyengine_tui.shell.app.COMMANDS_TIMEOUT_SECONDS", 0.1)
    async with tab3(desktop, shown="4") as tab:
        slow = SlowStore(tab, monkeypatch, is_stored=False)
        await tab.press("c")
        await slow.has_begun.wait()
        await tab.press("ctrl+q")
        await tab.until(lambda: not tab.app.is_running)
