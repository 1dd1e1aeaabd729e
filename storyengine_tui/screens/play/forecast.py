"""Shows the maximum cost of the next prompt, beside the cost of the chapter so far (design 18)."""

from typing import TYPE_CHECKING

from core.domain.errors import StoryEngineError
from core.domain.slot import Slot
from core.ledger.sums import dollars
from storyengine_tui.screens.play.composer.prompt_area import PromptArea
from storyengine_tui.screens.play.play_view import PlayView

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle


async def spent_text(session: "SessionHandle", view: PlayView, area: PromptArea | None) -> str:
    """Return the cost so far, and the maximum cost of the prompt in `area`, or of an empty one."""
    slot, typed, then = view.session.next_slot, "", tuple[Slot, ...]()
    if area is not None:
        slot, typed, then = area.slot, area.text, area.then
    amount = None
    if view.running is None and not view.why_read_only:
        try:
            amount = await session.money.of_prompt(slot, typed, then)
        except StoryEngineError:
            amount = None  # The prompt itself says what is wrong.
    return f"{view.spent} · next up to {dollars(amount)}" if amount else view.spent
