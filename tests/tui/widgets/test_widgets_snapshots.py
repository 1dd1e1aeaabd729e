"""Pictures of the reusable widgets; look at each one before it is accepted."""

import pytest
from textual.pilot import Pilot

from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import ComposerTextArea
from storyengine_tui.widgets.reading.transcript_view import TranscriptView
from tests.tui.conftest import SnapCompare
from tests.tui.gallery import GalleryApp

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])


@SIZES
def test_a_page_in_play(snapshot_of: SnapCompare, size: tuple[int, int]) -> None:
    assert snapshot_of(GalleryApp(), terminal_size=size)


def test_scrolled_up_with_a_selection_and_a_text_at_its_limit(snapshot_of: SnapCompare) -> None:
    async def select(pilot: Pilot[None]) -> None:
        view = pilot.app.query_one(TranscriptView)
        view.focus()
        await pilot.press("pageup", "shift+up", "shift+up", "shift+up")
        pilot.app.query_one(ComposerTextArea).read_only = True

    assert snapshot_of(GalleryApp(), terminal_size=(80, 24), run_before=select)


@SIZES
def test_a_question_that_cannot_be_undone(snapshot_of: SnapCompare, size: tuple[int, int]) -> None:
    async def ask(pilot: Pilot[None]) -> None:
        text = "The chapter is archived, and a new one begins with an empty page. " * 4
        pilot.app.push_screen(ConfirmModal("Reset this chapter?", text, is_destructive=True))
        await pilot.pause()

    assert snapshot_of(GalleryApp(), terminal_size=size, run_before=ask)
