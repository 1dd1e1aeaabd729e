"""Asks what a chapter that has ended means for its characters, and shows what is proposed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from textual.app import App

from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import RequestId
from core.domain.requests.request import RequestState
from storyengine_tui.screens.library.proposals.proposals_screen import ProposalsScreen

if TYPE_CHECKING:
    from core.engine.services.library.proposals import ProposalLibrary
    from core.engine.session.session_handle import SessionHandle


async def propose_changes(
    app: App[Any], library: "ProposalLibrary", session: "SessionHandle", *, with_ceremony: bool
) -> None:
    """Begin it, wait in the background until all is answered, and show the proposals.

    Raises StoryEngineError where a call has failed; what was proposed before it is kept.
    """
    begun = await session.cast_work.propose_changes(with_ceremony=with_ceremony)
    if begun.left_alone:
        app.notify(f"Left alone: {'; '.join(begun.left_alone)}", markup=False)
    if begun.asked:
        app.notify(f"Asking {session.cast_work.model}; go on meanwhile, F7 has the calls.", markup=False)
    await answered(session, begun.asked)
    if not await library.offered(session_id=session.id):
        app.notify("This chapter changed nothing that could be proposed.", markup=False)
    elif len(app.screen_stack) == 1:
        app.push_screen(ProposalsScreen(library, session_id=session.id))
    else:
        app.notify("There are proposals for your characters: F5, 3, then c.", markup=False)


async def answered(session: "SessionHandle", asked: Sequence[RequestId]) -> None:
    """Return once all of these were answered; raise StoryEngineError with the first failure's message."""
    settled = [await session.wait(one) for one in asked]
    for request in settled:
        if request.state is not RequestState.DONE:
            code = request.error_code or ErrorCode.LLM_CANCELLED
            raise StoryEngineError(
                code, request.error_message, "Earlier proposals are kept; ask again, or retry it under F7, 1."
            )
