"""Pictures of the reusable widgets; look at each one before it is accepted."""

from textual.pilot import Pilot

from storyengine_tui.screens.play.composer.prompt_area import PromptArea
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.reading.transcript_view import TranscriptView
from tests.tui.conftest import PicturesMatch
from tests.tui.widgets.gallery import GalleryApp


def test_a_page_in_play(pictures_match: PicturesMatch) -> None:
    assert pictures_match(GalleryApp())


def test_scrolled_up_with_a_selection_and_a_text_at_its_limit(pictures_match: PicturesMatch) -> None:
    async def select(pilot: Pilot[None]) -> None:
        view = pilot.app.query_one(TranscriptView)
        view.focus()
        await pilot.press("pageup", "shift+up", "shift+up", "shift+up")
        pilot.app.query_one(PromptArea).read_only = True

    assert pictures_match(GalleryApp(), sizes=((80, 24),), run_before=select)


def test_a_question_that_cannot_be_undone(pictures_match: PicturesMatch) -> None:
    async def ask(pilot: Pilot[None]) -> None:
        text = "The chapter is archived, and a new one begins with an empty page. " * 4
        pilot.app.push_screen(ConfirmModal("Reset this chapter?", text, is_destructive=True))
        await pilot.pause()

    assert pictures_match(GalleryApp(), run_before=ask)
