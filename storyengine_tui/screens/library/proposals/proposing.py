"""Asks what a chapter that has ended means for its characters, and shows what is proposed."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.widget import Widget
from textual.widgets import TextArea

from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import RequestId
from core.domain.requests.request import RequestState
from core.text.numbers import counted
from storyengine_tui.screens.library.proposals.proposals_screen import ProposalsScreen
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal

if TYPE_CHECKING:
    from core.engine.services.library.proposals import ProposalLibrary
    from core.engine.session.session_handle import SessionHandle

ASK_AGAIN = "Ask again what this chapter changed?"


async def propose_changes(
    app: App[Any],
    library: "ProposalLibrary",
    session: "SessionHandle",
    is_shown: Callable[[], bool],
    *,
    with_ceremony: bool,
) -> None:
    """Begin it, wait in the background until all is answered, and show the proposals.

    Where the GM types by then, or has gone elsewhere, it is only said where they are: letters would take and
    drop them. `is_shown` returns whether the chapter is still the open one. Raises StoryEngineError where a
    call has failed; what was proposed before it is kept.
    """
    before = _typed(app)
    begun = await session.cast_work.propose_changes(with_ceremony=with_ceremony)
    if begun.answered and not begun.asked and not await library.offered(session_id=session.id):
        count = counted(begun.answered, "question was", "questions were")
        text = f"{count} answered before, and nothing of it is open. Each is a call again."
        if not await app.push_screen_wait(ConfirmModal(ASK_AGAIN, text, confirm="Ask again")):
            return
        begun = await session.cast_work.propose_changes(with_ceremony=with_ceremony, again=True)
    if begun.left_alone:
        app.notify(f"Left alone: {'; '.join(begun.left_alone)}", markup=False)
    if begun.asked:
        app.notify(f"Asking {session.cast_work.model}; go on meanwhile, F7 has the calls.", markup=False)
    await answered(session, begun.asked)
    if not await library.offered(session_id=session.id):
        app.notify("This chapter changed nothing that could be proposed.", markup=False)
    elif len(app.screen_stack) == 1 and is_shown() and _typed(app) == before:
        app.push_screen(ProposalsScreen(library, session_id=session.id))
    else:
        app.notify("There are proposals for your characters: F5, 3, then c.", markup=False)


def _typed(app: App[Any]) -> tuple[Widget | None, str]:
    """Return what has the focus on the page, and the text in it."""
    focused = app.screen_stack[0].focused
    return focused, focused.text if isinstance(focused, TextArea) else ""


async def answered(session: "SessionHandle", asked: Sequence[RequestId]) -> None:
    """Return once all of these were answered; raise StoryEngineError with the first failure's message."""
    settled = [await session.wait(one) for one in asked]
    for request in settled:
        if request.state is not RequestState.DONE:
            code = request.error_code or ErrorCode.LLM_CANCELLED
            raise StoryEngineError(
                code, request.error_message, "Earlier proposals are kept; ask again, or retry it under F7, 1."
            )
