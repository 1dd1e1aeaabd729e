"""No final question is answered by an Enter too many: its focus begins on the button that cancels."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from textual.pilot import Pilot
from textual.screen import ModalScreen

import storyengine_tui.screens
import storyengine_tui.shell.palette
import storyengine_tui.widgets
from core.domain.session import SessionState
from storyengine_tui.screens.models.consent_modal import ConsentModal
from storyengine_tui.screens.models.fetch_modal import FetchModal
from storyengine_tui.screens.narrative.correction_modal import CorrectionModal
from storyengine_tui.screens.narrative.revisions.revision_modals import BlockModal
from storyengine_tui.screens.setup.lock_modal import LockModal
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.dialogs.overlay_screen import TextDialog
from storyengine_tui.widgets.dialogs.stored_text_modal import StoredTextModal
from tests.tui.engine_app import Desktop, make_active, make_draft, opened, until

pytestmark = pytest.mark.anyio


def dialogs() -> list[type[TextDialog]]:
    """Return every question of the program."""
    for package in (storyengine_tui.screens, storyengine_tui.widgets):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    return [kind for kind in descendants(TextDialog) if kind.__module__.startswith("storyengine_tui.")]


def descendants(kind: type[Any]) -> Iterator[type[Any]]:
    for below in kind.__subclasses__():
        yield below
        yield from descendants(below)


def test_every_question_that_is_final_begins_on_cancel_and_the_others_are_known() -> None:
    assert {kind for kind in dialogs() if not kind.IS_FINAL} == {
        CorrectionModal,
        BlockModal,
        StoredTextModal,
        FetchModal,
    }
    assert {ConfirmModal, ConsentModal, LockModal} <= {kind for kind in dialogs() if kind.IS_FINAL}
    assert all(kind.AUTO_FOCUS == "#cancel" for kind in dialogs() if kind.IS_FINAL)


def test_a_modal_screen_with_an_answer_of_yes_or_no_is_one_of_these_questions() -> None:
    asked = dialogs()
    others = {
        kind.__name__
        for kind in descendants(ModalScreen)
        if kind.__module__.startswith("storyengine_tui.") and kind is not TextDialog and kind not in asked
    }
    # They ask for a line or a choice, or only show something.
    shown = {"TitleModal", "SlotNameModal", "VariantModal", "WelcomeModal", "HelpScreen", "StoryPalette"}
    shown |= {"ModelOnceModal", "BranchModal", "ReplyModal", "RebuildModal", "ViewpointModal"}
    bases = {"OverlayModal", "LineModal", "GuardedCommandPalette"}
    assert others == shown | bases
    bases = {"OverlayModal", "LineModal", "GuardedCommandPalette"}
    assert others == shown | bases


def test_a_final_question_that_begins_elsewhere_cannot_be_written() -> None:
    with pytest.raises(TypeError, match="Hasty is final"):

        class Hasty(TextDialog):
            AUTO_FOCUS: ClassVar[str | None] = "#confirm"


async def asked(pilot: Pilot[Any], kind: type[TextDialog], *keys: str) -> StoryEngineApp:
    """Press keys and return once the question shows and something in it has the focus."""
    app = await opened(pilot)
    await pilot.press(*keys)
    await until(pilot, lambda: isinstance(app.screen, kind) and app.focused is not None)
    return app


async def test_enter_on_the_question_before_the_lock_changes_nothing(desktop: Desktop) -> None:
    await desktop.prepare(make_draft)
    async with desktop.app().run_test() as pilot:
        app = await asked(pilot, LockModal, "f3")
        assert app.focused is app.screen.query_one("#cancel")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.chapter)
        assert app.session is not None
        assert app.session.snapshot.session.state is SessionState.DRAFT_TAB1
        await app.close_everything()


@pytest.mark.parametrize("prompts", [0, 3, 8])
async def test_end_chapter_asks_while_the_last_chunk_is_short_and_enter_changes_nothing(
    desktop: Desktop, prompts: int
) -> None:
    await desktop.prepare(lambda engine: make_active(engine, prompts))
    async with desktop.app().run_test() as pilot:
        app = await asked(pilot, ConfirmModal, "f8")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.chapter)
        assert app.session is not None
        assert app.session.snapshot.session.state is SessionState.ACTIVE
        await app.close_everything()


async def test_end_chapter_ends_at_once_when_everything_is_in_memory_and_no_panel_holds_text(
    desktop: Desktop,
) -> None:
    async with desktop.window(lambda engine: make_active(engine, 7)) as (pilot, app):
        await pilot.press("f8")
        await until(pilot, lambda: app.chapter.active_tab == "narrative")
        assert app.session is not None
        assert app.session.snapshot.session.state is SessionState.ENDED


async def test_end_chapter_asks_when_a_panel_holds_text_that_was_not_sent(desktop: Desktop) -> None:
    await desktop.prepare(lambda engine: make_active(engine, 7))
    async with desktop.app().run_test() as pilot:
        app = await asked(pilot, ConfirmModal, *"Wait", "f8")
        assert app.focused is app.screen.query_one("#cancel")
        await pilot.press("escape")
        await app.close_everything()
