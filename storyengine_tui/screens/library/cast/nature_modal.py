"""One trait or one topic of a character of the library, as fields."""

from collections.abc import Awaitable, Callable

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from core.domain.session.limits import LONGEST_NAME
from core.library.characters.checks import BOUNDS, LONGEST_TEXT
from core.library.characters.nature import TITLES, Nature, is_number, kind_of, texts_of, typed
from core.text.cleaning import clean_line
from storyengine_tui.widgets.dialogs.form_modal import FormModal, field_row
from storyengine_tui.widgets.fields.one_line import LineField

_LONGEST_NUMBER = 24


class NatureModal(FormModal[bool, dict[str, str]]):
    """Ends with True once what was typed is stored."""

    AUTO_FOCUS = "LineField"
    HELP = (
        "Sentiment says how the character feels about it, from -1 to 1. Strength says how strong a trait is, "
        "exposure how much a topic is talked about: now, and as much as you want it; each from 0 to 1. "
        "Exposure moves with play, by proposals that you take."
    )

    def __init__(self, item: Nature, store: Callable[[Nature], Awaitable[None]], *, is_new: bool) -> None:
        super().__init__()
        self._item = item
        self._store = store
        self._is_new = is_new

    @property
    def heading(self) -> str:
        """Name the trait or the topic."""
        kind = kind_of(self._item)
        return f"A new {kind}" if self._is_new else f"The {kind} “{self._item.name}”"

    def compose_fields(self) -> ComposeResult:
        """Compose a line for each field, and the bounds."""
        item = self._item
        for name, text in texts_of(item).items():
            limit = LONGEST_NAME if name == "name" else LONGEST_TEXT
            limit = _LONGEST_NUMBER if is_number(item, name) else limit
            yield field_row(TITLES[name], LineField(clean_line(text), limit=limit, id=name))
        yield Static(Content(BOUNDS[type(item)]), classes="dialog--muted")

    @property
    def typed(self) -> dict[str, str]:
        """The texts of the fields, by their names."""
        return {name: self.query_one(f"#{name}", LineField).text for name in texts_of(self._item)}

    async def store(self, texts: dict[str, str]) -> bool:
        """Store what was edited; a text of several lines is shown on one, and otherwise stays as it is."""
        changed = {name: text for name, text in texts.items() if text != self.begun[name]}
        await self._store(typed(self._item, changed))
        return True
