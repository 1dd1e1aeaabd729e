"""Fields of a character's data for chapters besides name and identity, and of the end of a pause."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from textual.app import ComposeResult

from core.domain.session.limits import LONGEST_NAME
from core.domain.session.profile import LONGEST_MODEL, LONGEST_SHORT_DESCRIPTION, MOST_ALIASES, MOST_GROUPS
from core.library.characters.character import LibraryCharacter
from core.text.name_list import shown_names, typed_names
from storyengine_tui.textual_ext.repairs.option_lists import GuardedSelect
from storyengine_tui.widgets.dialogs.form_modal import FormModal, field_row
from storyengine_tui.widgets.dialogs.line_modal import LineModal
from storyengine_tui.widgets.fields.one_line import LineField

CHANGED_BY = (("you, and proposals that you take", False), ("you alone", True))


class PauseModal(LineModal):
    """Ends with the end of a pause as it was typed."""

    HEADING = "Pause until"
    PLACEHOLDER = "2030-05-31 or 2030-05-31 18:00"
    NOTE = "Leave it blank to pause until you resume the character. It is away in chapters locked meanwhile."
    LIMIT = 40
    SAVE = "Pause"


class DetailsModal(FormModal[bool, LibraryCharacter]):
    """Ends with True once what was typed is stored."""

    AUTO_FOCUS = "LineField"
    HELP = (
        "The others on stage are told the short description. Other names find the character wherever you "
        "type a name. A secret or a lorebook for a group is for those who belong to it or see it; without a "
        "group it is for General. Separate several names or groups by semicolons. The model "
        "plays this character in every chapter that takes it, unless F6 sets another one for its slot."
    )

    def __init__(
        self, character: LibraryCharacter, store: Callable[[LibraryCharacter], Awaitable[None]]
    ) -> None:
        super().__init__()
        self._character = character
        self._store = store

    @property
    def heading(self) -> str:
        """Name the character."""
        return f"What is told of {self._character.name}"

    def compose_fields(self) -> ComposeResult:
        """Compose a line for each field."""
        one, several = self._character, LONGEST_NAME + len("; ")
        for name, label, text, limit in (
            ("short", "Short description", one.short_description, LONGEST_SHORT_DESCRIPTION),
            ("aliases", "Other names", shown_names(one.aliases), MOST_ALIASES * several),
            ("group", "Group", one.group, LONGEST_NAME),
            ("sees", "Sees groups", shown_names(one.groups_visible), MOST_GROUPS * several),
        ):
            yield field_row(label, LineField(text, limit=limit, id=name), has_frame=True)
        yield field_row("Model", LineField(one.model, limit=LONGEST_MODEL, id="model"))
        choice = GuardedSelect(CHANGED_BY, value=one.is_static, allow_blank=False, compact=True, id="static")
        yield field_row("Changed by", choice)

    @property
    def typed(self) -> LibraryCharacter:
        """The character with the values of the fields."""

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

    async def store(self, typed: LibraryCharacter) -> bool:
        """Store the character."""
        await self._store(typed)
        return True
