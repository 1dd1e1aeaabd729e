"""No final question is answered by an Enter too many: its focus begins on the button that cancels."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from textual.screen import ModalScreen

import storyengine_tui.screens
import storyengine_tui.shell.palette
import storyengine_tui.widgets
from storyengine_tui.screens.calls.queue.queue_view import PromptModal
from storyengine_tui.screens.library.cast.character_modals import IdentityModal
from storyengine_tui.screens.models.permission.consent_modal import ConsentModal
from storyengine_tui.screens.models.permission.fetch_modal import FetchModal
from storyengine_tui.screens.narrative.revisions.revision_modals import BlockModal, CorrectionModal
from storyengine_tui.screens.play.actions.take_modals import ReplyModal
from storyengine_tui.screens.setup.casting.compare_screen import ShortenModal
from storyengine_tui.screens.setup.lock_modal import LockModal
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.dialogs.overlay_screen import TextDialog
from storyengine_tui.widgets.dialogs.stored_text_modal import StoredTextModal

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
        PromptModal,
        StoredTextModal,
        FetchModal,
        IdentityModal,
        ShortenModal,
        ReplyModal,
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
    shown = {"TitleModal", "SavePointNameModal", "VariantModal", "WelcomeModal", "HelpScreen", "StoryPalette"}
    shown |= {"ModelOnceModal", "BranchModal", "RebuildModal", "ViewpointModal"}
    shown |= {"HearersModal", "NarrationModal", "DiceModal", "RevealModal", "ReasonModal", "HintModal"}
    shown |= {
        "ExportModal",
        "BookModal",
        "BookFieldsModal",
        "FileModal",
        "NameModal",
        "DetailsModal",
        "NatureModal",
        "PauseModal",
    }
    shown |= {"ItemModal", "AddItemModal", "SheetModal", "SceneModal"}
    shown |= {"LanguageModal", "AwayModal", "SilenceModal", "CalledModal", "AddersModal"}
    bases = {"OverlayModal", "LineModal", "PathModal", "AddedLineModal", "FormModal", "StoringModal"}
    bases |= {"GuardedCommandPalette", "ItemFieldsModal", "BoxModal", "TicksModal"}
    assert others == shown | bases
