"""The entries of one lorebook: listed, found, switched, made and deleted; from here an entry is edited."""

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from core.domain.errors import StoryEngineError
from core.library.lore.book import LoreEntry
from core.library.lore.kept import KeptLorebook
from core.library.lore.key_line import shown_keys
from core.text.letters import folded
from core.text.numbers import counted
from storyengine_tui.screens.chapter.workspace import Workspace
from storyengine_tui.screens.library.lore.book_fields_modal import BookFieldsModal, TypedBook
from storyengine_tui.screens.library.lore.entry_screen import EntryScreen
from storyengine_tui.screens.library.lore.lorebook_editor import LorebookEditor
from storyengine_tui.screens.library.lore.lorebook_editor_screen import LorebookEditorScreen
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.screens.shared.narrowing_screen import NarrowingScreen
from storyengine_tui.screens.shared.window_text import WindowText
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal, ask_first
from storyengine_tui.widgets.fields.one_line import EntryField
from storyengine_tui.widgets.reading.column import Column
from storyengine_tui.widgets.reading.row_list import RowList

if TYPE_CHECKING:
    from core.engine.services.library.lorebooks import LoreLibrary

NONE_YET: Final = "This lorebook has no entries yet; n writes one."
FOUND_NOTHING: Final = "No entry has these words; Esc shows all again."
READING: Final = "Reading the lorebook …"
CONVERTS: Final = (
    "The program reads its format and does not write it. It becomes a lorebook_v3; data without a field "
    "there is kept beside it. The file that you imported stays as it is on your disk."
)


class LorebookScreen(LorebookEditorScreen, NarrowingScreen[None]):
    """Lists the entries; Enter edits one, Esc goes back to the library. Changes are saved automatically."""

    HELP = (
        "Enter edits an entry, space switches it on or off, n begins one, d deletes one. / finds by name, "
        "keys and text. t tries a text on the book and says which entries it activates, and why. b edits the "
        "settings of the whole book: its groups, scan depth and budget."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open", "Edit", key_display="⏎"),
        Binding("o", "look", "Show", key_display="⏎"),
        Binding("space", "switch", "On/off"),
        Binding("n", "add", "New"),
        Binding("d", "drop", "Delete"),
        Binding("t", "try", "Try a text"),
        Binding("b", "fields", "Book"),
        Binding("c", "convert", "Convert"),
        Binding("slash", "find", "Find"),
        Binding("escape", "close", "Back"),
    ]

    _list: "getters.query_one[RowList[LoreEntry]]" = getters.query_one("#entries", RowList)

    def __init__(self, workspace: Workspace, kept: KeptLorebook) -> None:
        super().__init__(workspace)
        self._kept = kept
        self._text: WindowText | None = None
        self._note = ""
        """Outcome of the last command, shown once behind the heading."""
        self._words: tuple[object, list[str]] = (None, [])
        """Searchable texts of the entries, and the entries that these were made from."""

    @property
    def _library(self) -> "LoreLibrary":
        return self.workspace.require_engine().library.lore

    def compose(self) -> ComposeResult:
        """Compose the heading over the list."""
        with Horizontal(id="top"):
            yield Static(Content(self._kept.name), id="heading")
            yield Static("", id="saved")
        yield EntryField(placeholder="Words to find", id="find")
        yield Static("", id="columns", markup=False)
        yield RowList[LoreEntry](_cells_of, lambda entry: not entry.is_enabled, id="entries")
        yield Static(READING, id="empty", markup=False)
        yield from self.compose_foot()

    def on_mount(self) -> None:
        """Read the book."""
        self._field.display = self._list.display = False
        self.do(self._open_book())

    async def on_unmount(self) -> None:
        """Stop storing."""
        if self.editor is not None:
            if self.editor.flush in self.workspace.editors:
                self.workspace.editors.remove(self.editor.flush)
            await self.editor.autosave.stop()
        if self._text is not None:
            self._text.close()

    def do(self, work: Awaitable[None]) -> None:
        """Do this in the background; show an error below the list."""
        self.run_worker(self._perform(work), group="lorebook", exit_on_error=False)

    async def _perform(self, work: Awaitable[None]) -> None:
        try:
            await work
        except StoryEngineError as error:
            self.say_unsaved(error)

    async def _open_book(self) -> None:
        entries = KeptText.entries_of(self._kept.id, self.workspace.paths.data)
        typed = self._text = await WindowText.take(entries)
        # The version first: what is stored in between is then noticed.
        kept = await self._library.by_id(self._kept.id)
        editor = self.editor = LorebookEditor(self._library, kept, await self._library.read(kept), typed.kept)
        editor.autosave.start()
        self.workspace.editors.append(editor.flush)
        if found := editor.recover():
            self._note = f"What you last typed in “{'”, “'.join(found)}” is here again"
        if self.is_active:
            self.on_screen_resume()
        self._list.focus()

    def show_again(self) -> None:
        """Show the book as it was edited."""
        editor = self.editor
        if editor is None:
            return
        entries = editor.book.entries
        is_on = sum(entry.is_enabled for entry in entries)
        name = f"{editor.kept.name} · {counted(len(entries), 'entry', 'entries')}, {is_on:,} on"
        note = self._note or ("" if editor.can_write else f"{editor.kept.format}: c converts it, to edit it")
        self._note = ""
        self.query_one("#heading", Static).update(Content(f"{name} · {note}" if note else name))
        self._show_rows()

    def say_saved(self) -> None:
        """Say that all is stored, and list the entries as they are stored: a uid may be another one now."""
        super().say_saved()
        if self.is_attached:
            self._show_rows()

    def _show_rows(self, cursor: int | None = None) -> None:
        if self.editor is None:
            return
        shown = self._found(self.editor.book.entries)
        self._list.show_rows(shown, self._columns, cursor)
        header = self.query_one("#columns", Static)
        header.update(f" {self._list.header()}")
        is_empty = self.query_one("#empty", Static)
        is_empty.update(FOUND_NOTHING if self._field.display and self.editor.book.entries else NONE_YET)
        is_empty.display = not shown
        self._list.display = header.display = bool(shown)
        self.refresh_bindings()

    @property
    def _columns(self) -> Sequence[Column]:
        room = max(40, self.size.width - 21)
        name = max(16, room * 2 // 5)
        return (
            Column("", 6),
            Column("Name", name),
            Column("Keys", room - name),
            Column("Order", 7, is_number=True),
        )

    def on_resize(self) -> None:
        """Adapt the widths of the columns."""
        self._show_rows()

    # Finding

    def _found(self, entries: tuple[LoreEntry, ...]) -> Sequence[LoreEntry]:
        words = self.words
        if not words:
            return entries
        if self._words[0] is not entries:
            self._words = (entries, [_words_of(entry) for entry in entries])
        texts = self._words[1]
        return [
            entry for entry, text in zip(entries, texts, strict=True) if all(word in text for word in words)
        ]

    @property
    def rows(self) -> Sequence[LoreEntry]:
        """The entries that the list shows."""
        return self._list.rows

    @property
    def list_of_rows(self) -> Widget:
        """The list."""
        return self._list

    def narrow(self) -> None:
        """Show the entries that have the words in the field."""
        self._show_rows(0 if self._field.display else None)

    # What is done with the entry under the cursor

    def action_look(self) -> None:
        """Show the entry under the cursor, in a book that is only read."""
        self.action_open()

    @on(RowList.Chosen)
    def action_open(self) -> None:
        """Edit the entry under the cursor."""
        entry = self._list.chosen
        if entry is not None and self.is_active:
            self._edit(entry)

    def _edit(self, entry: LoreEntry) -> None:
        if self.editor is not None:
            self.app.push_screen(EntryScreen(self.workspace, self.editor, entry.uid))

    def action_add(self) -> None:
        """Begin an entry, and edit it."""
        if self.editor is None:
            return
        try:
            entry = self.editor.add()
        except StoryEngineError as error:
            self.say_unsaved(error)
            return
        self.hide_field()
        self._show_rows(len(self.editor.book.entries) - 1)
        self._edit(entry)

    def action_switch(self) -> None:
        """Switch the entry under the cursor on or off."""
        entry = self._list.chosen
        if entry is not None and self.editor is not None:
            self.editor.put(replace(entry, is_enabled=not entry.is_enabled))
            self.say_state("storing …")
            self.show_again()

    def action_drop(self) -> None:
        """Delete the entry under the cursor, after a question."""
        entry, editor = self._list.chosen, self.editor
        if entry is None or editor is None:
            return

        def drop(is_wanted: bool | None) -> None:
            # By then it may have another uid, or be gone.
            now, editor.editing = editor.find(editor.editing), ""
            if is_wanted and now is not None and replace(now, uid=entry.uid) == entry:
                editor.drop(now.uid)
                self.say_state("storing …")
                self.show_again()

        editor.editing = entry.uid
        name = entry.name or shown_keys(entry.keys) or entry.uid
        question = f"Delete “{name[:60]}”?"
        text = "The entry is deleted from this lorebook. Chapters that have a copy of it keep theirs."
        self.app.push_screen(ConfirmModal(question, text, confirm="Delete", is_destructive=True), drop)

    # What is done with the book

    def action_try(self) -> None:
        """Try a text on the book."""
        from storyengine_tui.screens.library.lore.try_screen import TryScreen

        if self.editor is not None:
            self.app.push_screen(TryScreen(self.workspace, self.editor))

    def action_fields(self) -> None:
        """Edit what holds for the whole book."""
        editor = self.editor
        if editor is None:
            return

        before = editor.groups

        def store(typed: TypedBook | None) -> None:
            if typed is not None:
                book, groups = typed.put_into(editor.book), typed.group_names(before)
                if book != editor.book or groups != editor.groups:
                    editor.change_book(book, groups)
                    self.say_state("storing …")

        kept = replace(editor.kept, groups=before)
        typed = TypedBook.of(before, editor.book)
        self.app.push_screen(BookFieldsModal(kept, typed, can_write=editor.can_write), store)

    def action_convert(self) -> None:
        """Make a book that can be edited of one that can be read alone, after a question."""
        if self.editor is None:
            return
        question = f"Convert this lorebook from {self.editor.kept.format}?"
        dialog = ConfirmModal(question, CONVERTS, confirm="Convert")
        ask_first(self.app, dialog, lambda: self.do(self._convert()))

    async def _convert(self) -> None:
        if self.editor is not None:
            await self.editor.convert()
            self.say_saved()
            self.show_again()

    # Leaving

    def leave(self) -> None:
        """Store what is left, and go back to the library."""
        self.run_worker(self._close(), group="close", exclusive=True, exit_on_error=False)

    async def _close(self) -> None:
        editor = self.editor
        if editor is None:
            self.dismiss()
            return
        try:
            await editor.flush()
        except StoryEngineError as error:
            self.say_unsaved(error)
            question = ConfirmModal(
                "Leave without saving it?", error.message, confirm="Leave", cancel="Stay here"
            )
            self.app.push_screen(question, self._leave)
        else:
            self.dismiss()

    def _leave(self, is_sure: bool | None) -> None:
        if is_sure and self.editor is not None:
            self.editor.forget()
            self.dismiss()

    @on(RowList.Moved)
    def _update_footer(self) -> None:
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        if action in ("close", "find"):
            return True
        if self.editor is None:
            return action not in ("open", "look", "switch", "add", "drop", "try", "fields", "convert")
        if action == "convert":
            return not self.editor.can_write
        if action == "look":
            return self._list.chosen is not None and not self.editor.can_write
        if action in ("open", "switch", "drop"):
            return self._list.chosen is not None and self.editor.can_write
        return action != "add" or self.editor.can_write


def _cells_of(entry: LoreEntry) -> tuple[str, ...]:
    state = "always" if entry.is_constant else "on"
    return (
        state if entry.is_enabled else "off",
        entry.name or entry.uid,
        shown_keys(entry.keys[:20]),
        f"{entry.order:,}",
    )


def _words_of(entry: LoreEntry) -> str:
    return folded("\n".join((entry.name, *entry.keys, *entry.secondary, entry.content)))
