"""Requests that a model has, or has answered, and that a restored backup lacks."""

from collections.abc import Collection
from typing import Final

from core.domain.session.session_state import SessionState

PROMPT_REMOVED: Final = (
    "The backup that was restored does not have this prompt; what came in of the reply is kept."
)
WORK_REMOVED: Final = "The backup that was restored does not have this request; its answer is on record."


def can_ask_again(state: SessionState, slots: Collection[int], called: Collection[int]) -> bool:
    """Whether a chapter as it is now can ask those who were called."""
    return state.is_played and set(called) <= set(slots)
