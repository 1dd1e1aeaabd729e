"""Searches the chapter, or its whole book: a list that narrows with each letter."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import DataTable, Input, Static

from core.domain.errors import StoryEngineError
from core.domain.ids import SessionId
from core.engine.recall.search import Hit
from core.text.cleaning import clean, clean_line
from storyengine_tui.screens.calls.inputs.text_screen import TextScreen
from storyengine_tui.screens.library.list_screen import ListScreen
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.fields.one_line import EntryField
from storyengine_tui.widgets.reading.memory_outline import Passage

if TYPE_CHECKING:
    from core.engine.engine import Engine

NOTHING = "Type words to find; each may be the beginning of one."
NOT_FOUND = "Nothing has all of these words."
PAUSE_SECONDS = 0.2
"""How long the typing rests before the search begins."""

Search = Callable[[str, bool], Awaitable[Sequence[Hit]]]
"""Finds a text, in the whole book or in this chapter."""


class SearchScreen(ListScreen[Hit, Hit]):
    """Ends with the hit that was chosen, or without one."""

    CSS_PATH = "search.tcss"
    HELP = (
        "Type words to find in transcript, memory, memory bank and drafts; the list narrows as you type. "
        "Items of the memory bank are found by their meaning too. Enter shows the place under the cursor, "
        "Ctrl+B searches the whole book, and then this chapter again."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        # With priority: the cursor of the list moves while the field has the focus.
        Binding("up", "step(-1)", "Choose", show=False, priority=True),
        Binding("down", "step(1)", "Choose", show=False, priority=True),
        Binding("enter", "take", "Show", priority=True),
        Binding("ctrl+b", "widen", "Whole book", priority=True),
        Binding("escape", "close", "Back"),
    ]

    def __init__(self, search: Search, *, is_in_book: bool) -> None:
        """Search by `search`; in a chapter that is in no book it is the whole of it."""
        super().__init__()
        self._search = search
        self._is_in_book = is_in_book
        self._is_wide = False

    def compose(self) -> ComposeResult:
        """Compose the field above the list."""
        yield Static(self._heading, id="heading", markup=False)
        yield EntryField(placeholder="Words to find", id="find")
        yield from self.compose_list("hits", NOTHING)

    @property
    def _heading(self) -> str:
        return "Search the whole book" if self._is_wide else "Search this chapter"

    @property
    def first_field(self) -> Widget:
        """The field, in which words can be typed at once."""
        return self.query_one("#find")

    async def reload(self) -> None:
        """Search again, and show the list in columns for this width."""
        words = self.query_one("#find", EntryField).value.strip()
        found = await self._search(words, self._is_wide) if words else ()
        self.query_one("#empty", Static).update(NOT_FOUND if words else NOTHING)
        where = max(20, min(34, self.size.width // 3))
        columns = {"Where": where, "What": max(20, self.size.width - where - 6)}
        self.fill(found, columns, self._cells, takes_focus=False)

    @on(Input.Changed, "#find")
    def _look(self) -> None:
        self.set_timer(PAUSE_SECONDS, self._begin)

    def _begin(self) -> None:
        self.run_worker(self._perform_reload(), group="search", exclusive=True, exit_on_error=False)

    async def _perform_reload(self) -> None:
        banner = self.query_one("#trouble", Banner)
        try:
            await self.reload()
        except StoryEngineError as error:
            banner.show(error.message, hint=error.hint)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the whole book where there is one."""
        if action == "widen":
            return self._is_in_book
        return super().check_action(action, parameters)

    def action_widen(self) -> None:
        """Search the whole book, or this chapter again."""
        self._is_wide = not self._is_wide
        self.query_one("#heading", Static).update(self._heading)
        self._begin()

    def action_step(self, step: int) -> None:
        """Move the cursor of the list."""
        self._table.move_cursor(row=self._table.cursor_row + step, animate=False)

    @on(DataTable.RowSelected)
    def action_take(self) -> None:
        """Show the hit under the cursor."""
        if self.chosen is not None:
            self.app.push_screen(HitScreen(self.chosen, with_chapter=self._is_wide))

    def _cells(self, hit: Hit) -> tuple[Text, Text]:
        who = f"{clean_line(hit.who)}: " if hit.who else ""
        return (
            Text(place_of(hit, with_chapter=self._is_wide), no_wrap=True, overflow="ellipsis"),
            Text(f"{who}{clean_line(hit.excerpt)}", no_wrap=True, overflow="ellipsis"),
        )


class HitScreen(TextScreen):
    """Shows the whole text of a hit."""

    CSS_PATH = "../calls/calls_screen.tcss"
    HELP = "The whole text that was found. y copies it, v marks a part, Esc goes back to the list."

    def __init__(self, hit: Hit, *, with_chapter: bool) -> None:
        super().__init__()
        self._hit = hit
        self._with_chapter = with_chapter

    @property
    def heading(self) -> str:
        """Where the text is."""
        return place_of(self._hit, with_chapter=self._with_chapter)

    async def passages(self) -> Sequence[Passage]:
        """Return the text, under who says it."""
        title = clean_line(self._hit.who) or self.heading
        return [Passage(f"{title}\n{clean(self._hit.text)}", len(title))]


async def search_in(engine: "Engine", session_id: SessionId) -> SearchScreen:
    """Return the search over a chapter; raises StorageError."""
    book = await engine.library.books.of(session_id)
    chapters = (session_id,) if book is None else book.chapters

    async def search(text: str, is_wide: bool) -> Sequence[Hit]:
        return await engine.search(chapters if is_wide else (session_id,), text)

    return SearchScreen(search, is_in_book=len(chapters) > 1)


def place_of(hit: Hit, *, with_chapter: bool) -> str:
    """Return where a hit is, in words."""
    where = [f"Chapter {hit.chapter}"] if with_chapter else []
    where.append(hit.place.value if where else hit.place.value.capitalize())
    return ", ".join([*where, *([] if hit.prompt is None else [f"prompt {hit.prompt}"])])
