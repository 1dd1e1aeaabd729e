"""Switches the memory bank of the open chapter on and off, and says what that means."""

from typing import TYPE_CHECKING, Any, Final

from textual.app import App

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle

KEPT: Final = "This chapter keeps a memory bank; it grows with every block of memory."
UNREAD: Final = (
    "This chapter keeps a memory bank. {} of it to be read first, in the background; F7, 1 shows it."
)
STOPPED: Final = "This chapter keeps no memory bank now. The items that it has stay, and are not recalled."


async def keep_bank(app: App[Any], session: "SessionHandle", *, is_on: bool) -> None:
    """Keep a memory bank of the chapter, or stop. Raises StoryEngineError."""
    unread = await session.keeping.keep(is_on=is_on)
    if not is_on:
        app.notify(STOPPED, markup=False)
    elif unread:
        parts = "1 part" if unread == 1 else f"{unread:,} parts"
        app.notify(UNREAD.format(parts), markup=False)
    else:
        app.notify(KEPT, markup=False)
