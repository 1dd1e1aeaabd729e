"""Switches the memory bank of the open chapter on and off, sets its language, and says what that means."""

from typing import TYPE_CHECKING, Any, Final

from textual.app import App

from core.domain.requests.cost import FREE
from core.domain.session.language import LANGUAGES, Language, read_language
from core.text.cleaning import clean_line
from core.text.numbers import counted
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.dialogs.line_modal import LineModal

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle

KEPT: Final = "This chapter keeps a memory bank; it grows with every block of memory."
UNREAD: Final = (
    "This chapter keeps a memory bank. {} of it will be read first, in the background; F7, 1 shows it."
)
NO_LANGUAGE: Final = "Not saved. “{}” is not among these languages."
TOLD_IN: Final = "The language of the story is {} now."
STOPPED: Final = "This chapter keeps no memory bank now. The items that it has stay, and are not recalled."


WHERE_IT_RUNS: Final = "All of it runs in the background; F7, 1 shows it, and c there drops the rest of it."
READ: Final = "Read"


async def keep_bank(app: App[Any], session: "SessionHandle", *, is_on: bool) -> None:
    """Keep a memory bank of the chapter, or stop; ask first where reading the chapter costs money.

    Runs in a worker. Raises StoryEngineError.
    """
    if is_on and not await _may_cost(app, session):
        return
    unread = await session.keeping.keep(is_on=is_on)
    if not is_on:
        app.notify(STOPPED, markup=False)
    elif unread:
        app.notify(UNREAD.format(counted(unread, "part")), markup=False)
    else:
        app.notify(KEPT, markup=False)


async def _may_cost(app: App[Any], session: "SessionHandle") -> bool:
    """Return whether the chapter may be read at its cost."""
    to_read = await session.keeping.to_read()
    if not to_read:
        return True
    forecast = await session.money.of_reading(to_read)
    if forecast.amount == FREE:
        return True
    text = f"{forecast.costs} {WHERE_IT_RUNS}"
    is_wanted = await app.push_screen_wait(ConfirmModal(forecast.question, text, confirm=READ))
    return bool(is_wanted)


class LanguageModal(LineModal):
    """Ends with the language of the story, as it was typed."""

    HEADING = "Language of the story"
    NOTE = (
        "Recall and search treat all forms of a word in this language as the same word. It is one of: "
        f"{LANGUAGES}. For any other, “simple” takes words as they are written."
    )
    LIMIT = 20

    def refusal(self, line: str) -> str:
        """Refuse an unknown language."""
        return "" if read_language(line) else NO_LANGUAGE.format(clean_line(line))


async def set_language(app: App[Any], session: "SessionHandle", language: Language) -> None:
    """Store the language of the chapter. Raises StoryEngineError."""
    await session.keeping.set_language(language)
    app.notify(TOLD_IN.format(language.value.capitalize()), markup=False)
