"""Begins the next chapter; asks first where the book has one already."""

from typing import Any

from textual.app import App

from core.domain.errors import BookGoesOnError
from core.domain.ids import SessionId
from storyengine_tui.screens.chapter.workspace import Workspace
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal

QUESTION = "Begin another chapter in between?"


async def begin_next(app: App[Any], workspace: Workspace, session_id: SessionId) -> bool:
    """Store the chapter after a session and open it; return False where the GM does not want it.

    Runs in a worker. Raises StoryEngineError.
    """
    try:
        await workspace.open_next(session_id)
    except BookGoesOnError as error:
        question = ConfirmModal(QUESTION, error.message, confirm="Begin it")
        if not await app.push_screen_wait(question):
            return False
        await workspace.open_next(session_id, again=True)
    return True
