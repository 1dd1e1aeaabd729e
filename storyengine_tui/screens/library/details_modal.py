"""What a chapter takes of a character besides name and identity, as fields, and the end of a pause."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Static

from core.domain.errors import StoryEngineError
from core.domain.session.limits import LONGEST_NAME
from core.domain.session.profile import LONGEST_MODEL, LONGEST_SHORT_DESCRIPTION, MOST_ALIASES, MOST_GROUPS
from core.library.characters.character import Character
from core.text.name_list import shown_names, typed_names
from storyengine_tui.textual_ext.repairs.option_lists import GuardedSelect
from storyengine_tui.widgets.dialogs import line_modal
from storyengine_tui.widgets.dialogs.line_modal import LineModal
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayModal
from storyengine_tui.widgets.fields.one_line import LineField

CHANGED_BY = (("you, and proposals that you take", False), ("you alone", True))


class PauseModal(LineModal):
    """Ends with the end of a pause as it was typed."""

    HEADING = "Pause until"
    PLACEHOLDER = "2030-05-31 or 2030-05-31 18:00"
    NOTE = "Left blank, until you resume it. A chapter that is locked meanwhile has it away until then."
    LIMIT = 40
    SAVE = "Pause"


class DetailsModal(OverlayModal[bool]):
    """Ends with True once what was typed is stored; a refusal is shown, and the fields stay."""

    CSS_PATH = Path(line_modal.__file__).with_name("dialog.tcss")
    AUTO_FOCUS = "LineField"
    HELP = (
        "The others on stage are told the short description. Other names find the character wherever you "
        "type a name. A secret or a lorebook for a group is for those who belong to it or see it; without a "
        "group it is for General. Semicolons stand between several names or groups. The model is a note for "
        "you: a chapter is played by the models that are set for its slots."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel"),
        Binding("ctrl+s", "save", "Save", priority=True),
    ]

    def __init__(self, character: Character, store: Callable[[Character], Awaitable[None]]) -> None:
        super().__init__()
        self._character = character
        self._store = store

    def compose(self) -> ComposeResult:
        """Compose a line for each field, and the two answers."""
        one, several = self._character, LONGEST_NAME + len("; ")
        with Vertical(classes="dialog--box"):
            yield Static(Content(f"What is told of {one.name}"), classes="dialog--title")
            for name, label, text, limit in (
                ("short", "Short description", one.short_description, LONGEST_SHORT_DESCRIPTION),
                ("aliases", "Other names", shown_names(one.aliases), MOST_ALIASES * several),
                ("group", "Group", one.group, LONGEST_NAME),
                ("sees", "Sees groups", shown_names(one.groups_visible), MOST_GROUPS * several),
            ):
                with Horizontal(classes="dialog--field"):
                    yield Static(label, classes="dialog--label")
                    yield LineField(text, limit=limit, id=name)
            with Horizontal(classes="dialog--choice"):
                yield Static("Model", classes="dialog--label")
                yield LineField(one.model, limit=LONGEST_MODEL, id="model")
            with Horizontal(classes="dialog--choice"):
                yield Static("Changed by", classes="dialog--label")
                yield GuardedSelect(
                    CHANGED_BY, value=one.is_static, allow_blank=False, compact=True, id="static"
                )
            yield Static("", id="refused", classes="dialog--text", markup=False)
            with Horizontal(classes="dialog--buttons"):
                yield Button("Cancel", id="cancel")
                yield Button("Save", id="save", classes="action")

    def on_mount(self) -> None:
        """Nothing has been refused yet."""
        self.query_one("#refused").display = False

    @property
    def typed(self) -> Character:
        """The character with what stands in the fields."""

        def text(name: str) -> str:
            return self.query_one(f"#{name}", LineField).text

        return replace(
            self._character,
            short_description=text("short"),
            aliases=typed_names(text("aliases"), self._character.aliases),
            group=text("group"),
            groups_visible=typed_names(text("sees"), self._character.groups_visible),
            model=text("model"),
            is_static=self.query_one("#static", GuardedSelect).value is True,
        )

    @on(Button.Pressed, "#save")
    def action_save(self) -> None:
        """Store what was typed, behind the keys that came before."""
        self.call_later(
            lambda: self.run_worker(self._save(), group="store", exclusive=True, exit_on_error=False)
        )

    async def _save(self) -> None:
        try:
            await self._store(self.typed)
        except StoryEngineError as error:
            refused = self.query_one("#refused", Static)
            refused.update(Content(f"Not stored. {error}"))
            refused.display = True
        else:
            self.dismiss(True)

    @on(Button.Pressed, "#cancel")
    def action_cancel(self) -> None:
        """Close without storing anything."""
        self.dismiss(False)
