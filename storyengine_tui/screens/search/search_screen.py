"""Searches the chapter, or its whole book: a list that narrows with each letter."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.timer import Timer
from textual.widgets import DataTable, Input, Static

from core.domain.errors import StoryEngineError
from core.domain.ids import SessionId
from core.engine.recall.hits import Hit, excerpt_of
from core.engine.recall.search import Searched
from core.engine.recall.texts import HitPlace
from core.text.cleaning import clean_line
from storyengine_tui.screens.shared.background import run_in_background
from storyengine_tui.screens.shared.list_screen import ChoosingScreen, cut
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.fields.one_line import EntryField

if TYPE_CHECKING:
    from core.engine.engine import Engine

TYPE_WORDS = "Type words to find; each may be the beginning of one."
LOOKING = "Looking …"
NOT_FOUND = "Nothing has all of these words."
LONGEST_PLACE = 34
"""Cells of the column that says where a hit is."""
PAUSE_SECONDS = 0.2
"""Debounce of typing, in seconds, before the search begins."""

Search = Callable[[str, bool], Awaitable[Searched]]
"""Finds a text, in the whole book or in this chapter."""


class SearchScreen(ChoosingScreen[Hit, Hit]):
    """Ends with the hit that was chosen, or without one."""

    CSS_PATH = "search.tcss"
    HELP = (
        "Type words to find in transcript, memory, memory bank and drafts; the list narrows as you type. "
        "In a chapter with a memory bank all of it is found by meaning too, with how near it is (≈0.43; 1 is "
        "the same). Enter goes to the place under the cursor, in another chapter too; Ctrl+B searches the "
        "whole book, and then this chapter again."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "Go there", priority=True),
        Binding("ctrl+b", "search_in(True)", "Whole book", priority=True),
        Binding("ctrl+b", "search_in(False)", "This chapter", priority=True),
        Binding("escape", "close", "Back"),
    ]

    def __init__(
        self,
        search: Search,
        is_in_book: Callable[[], Awaitable[bool]],
        leave_texts: Callable[[], object] = lambda: None,
    ) -> None:
        """Search by `search`; in a chapter that is in no book it is the whole of it.

        `leave_texts` is called when no more is searched.
        """
        super().__init__()
        self._search = search
        self._leave_texts = leave_texts
        self._pause: Timer | None = None
        self._ask_for_book = is_in_book
        self._is_in_book = False
        """Whether the chapter is known to be in a book with others."""
        self._is_wide = False
        self._shown = ("", False)
        """The words that the list is for, and whether it is that of the whole book."""

    def compose(self) -> ComposeResult:
        """Compose the field above the list."""
        yield Static(self._heading, id="heading", markup=False)
        yield EntryField(placeholder="Words to find", id="find")
        yield from self.compose_list("hits", TYPE_WORDS)

    def on_mount(self) -> None:
        """Offer the whole book where there is one; words can be typed before that is known."""
        super().on_mount()
        run_in_background(self, self._look_for_book(), group="book", failed=self._show_trouble)

    def on_unmount(self) -> None:
        """Leave what was read for the searches."""
        self._leave_texts()

    async def _look_for_book(self) -> None:
        self._is_in_book = await self._ask_for_book()
        self.refresh_bindings()

    @property
    def _heading(self) -> str:
        return "Search the whole book" if self._is_wide else "Search this chapter"

    @property
    def _asked(self) -> tuple[str, bool]:
        """The words in the field, and whether the whole book is searched."""
        return self.query_one("#find", EntryField).value.strip(), self._is_wide

    async def reload(self) -> None:
        """Search again, and show the list in columns for this width."""
        asked = words, is_wide = self._asked
        if words and asked != self._shown:
            # A long chapter takes a second the first time.
            self.query_one("#heading", Static).update(f"{self._heading} · {LOOKING.lower()}")
            self.query_one("#empty", Static).update(LOOKING)
        found, _ = searched = await self._search(words, is_wide) if words else Searched()
        if asked != self._asked:
            return  # Other words are searched next.
        cursor = self._table.cursor_row if asked == self._shown else 0
        self._shown = asked
        self.query_one("#trouble", Banner).hide()
        self.query_one("#empty", Static).update(NOT_FOUND if words else TYPE_WORDS)
        instead = next((hit.instead for hit in found if hit.instead), "")
        said = f" · nothing has “{clean_line(words)}”, this is for “{instead}”" if instead else ""
        said += f" · {searched.gap}" if searched.gap else ""
        self.query_one("#heading", Static).update(f"{self._heading}{said}")
        longest = max((len(place_of(hit, with_chapter=self._is_wide)) for hit in found), default=0)
        where = max(20, min(LONGEST_PLACE, max(self.size.width // 3, longest)))
        columns = {"Where": where, "What": max(20, self.size.width - where - 6)}
        self.fill(found, columns, self._cells, cursor=cursor, takes_focus=False)

    @on(Input.Changed, "#find")
    def _look(self) -> None:
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.set_timer(PAUSE_SECONDS, self._begin)

    def _begin(self) -> None:
        run_in_background(self, self.reload(), group="search", exclusive=True, failed=self._show_trouble)

    def _show_trouble(self, error: StoryEngineError) -> None:
        self.query_one("#heading", Static).update(self._heading)
        self.query_one("#empty", Static).update("")
        self.query_one("#trouble", Banner).show(error.message, hint=error.hint)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the whole book where there is one, and this chapter where the whole book is searched."""
        if action == "search_in":
            return self._is_in_book and parameters != (self._is_wide,)
        return super().check_action(action, parameters)

    def action_search_in(self, is_wide: bool) -> None:
        """Search the whole book, or this chapter again."""
        self._is_wide = is_wide
        self.refresh_bindings()
        self.query_one("#heading", Static).update(self._heading)
        self._begin()

    @on(DataTable.RowSelected)
    def action_take(self) -> None:
        """End with the hit under the cursor, once all letters that came before are in the field."""
        self.first_field.call_later(
            lambda: run_in_background(self, self._take(), group="take", failed=self._show_trouble)
        )

    async def _take(self) -> None:
        """Search first, where the list is not yet that of the words in the field."""
        if self._shown != self._asked:
            await self.reload()
        if self._shown == self._asked and self.chosen is not None:
            self.dismiss(self.chosen)

    def _cells(self, hit: Hit) -> tuple[Text, Text]:
        who = f"{clean_line(hit.who)}: " if hit.who else ""
        # Fewer words than on the command line: what was found is to be in view.
        excerpt = clean_line(excerpt_of(hit.text, hit.start, self.size.width // 6))
        return (cut(place_of(hit, with_chapter=self._is_wide)), cut(f"{hit.by_meaning}{who}{excerpt}"))


def search_in(engine: "Engine", session_id: SessionId) -> SearchScreen:
    """Return the search over a chapter: at once, so that what is typed next is typed there."""

    texts = engine.keep_texts()

    async def chapters_of_book() -> Sequence[SessionId]:
        book = await engine.library.books.of(session_id)
        return (session_id,) if book is None else book.chapters

    async def search(text: str, is_wide: bool) -> Searched:
        chapters = await chapters_of_book() if is_wide else (session_id,)
        return await engine.search(chapters, text, texts=texts)

    async def is_in_book() -> bool:
        return len(await chapters_of_book()) > 1

    return SearchScreen(search, is_in_book, texts.close)


def place_of(hit: Hit, *, with_chapter: bool) -> str:
    """Return where a hit is, in words."""
    where = [f"Chapter {hit.chapter}"] if with_chapter else []
    where.append(hit.place.value if where else hit.place.value.capitalize())
    return ", ".join(filter(None, (*where, hit.prompts)))


def place_wanted(hit: Hit) -> SessionTab.ElsewhereWanted:
    """Return what says that the GM goes to the place of a hit."""
    words = f"{hit.start}, {hit.end}"
    match hit.place:
        case HitPlace.TRANSCRIPT:
            tab, action = "play", f"go_to({hit.prompt}, {hit.source}, {words})"
        case HitPlace.MEMORY:
            tab, action = "narrative", f"go_to_block('{hit.source}', {hit.part}, {words})"
        case HitPlace.BANK:
            tab, action = "narrative", f"go_to_item('{hit.source}')"
        case HitPlace.DRAFT:
            tab, action = "narrative", f"go_to_draft({hit.source}, {words})"
    return SessionTab.ElsewhereWanted(tab, action, hit.session_id)
