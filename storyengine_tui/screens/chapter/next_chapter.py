"""Begins the next chapter; asks first where the book has one, or the memory bank has not all of this one."""

from typing import Any, Final

from textual.app import App

from core.domain.errors import BookGoesOnError, UnreadPartsError
from core.domain.ids import SessionId
from storyengine_tui.screens.chapter.workspace import Workspace
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal

QUESTION: Final = "Begin another chapter in between?"
UNREAD: Final = "Begin the next chapter now?"
WHEN_READ: Final = "What waits is read while this chapter is open; F7, 1 shows it, and what failed."
BEGIN: Final = "Begin it"


async def begin_next(app: App[Any], workspace: Workspace, session_id: SessionId) -> bool:
    """Store the chapter after a session and open it; return False where the GM does not want it.

    Runs in a worker. Raises StoryEngineError.
    """
    await workspace.ask_to_leave()
    again, only_if_read = False, True
    while True:
        try:
            await workspace.open_next(session_id, again=again, only_if_read=only_if_read)
        except BookGoesOnError as error:
            again, question = True, ConfirmModal(QUESTION, error.message, confirm=BEGIN)
        except UnreadPartsError as error:
            only_if_read, text = False, f"{error.message} {WHEN_READ}"
            question = ConfirmModal(UNREAD, text, confirm=BEGIN)
        else:
            return True
        if not await app.push_screen_wait(question):
            return False
