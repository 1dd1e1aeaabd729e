"""Settings of a whole lorebook: its readers, the part of the story that is scanned, and its budget."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Self

from textual.app import ComposeResult
from textual.widgets import Input, Select

from core.domain.errors import IllegalCommandError
from core.domain.session.profile import GENERAL
from core.library.lore.book import GREATEST_DEPTH, Lorebook
from core.library.lore.kept import KeptLorebook, cleaned_lorebook, problems_of_lorebook
from core.text.name_list import problems_of_groups, shown_names, typed_names
from core.text.numbers import read_count
from storyengine_tui.screens.library.lore.typed_entry import SWITCHES
from storyengine_tui.textual_ext.repairs.option_lists import GuardedSelect
from storyengine_tui.widgets.dialogs.form_modal import FormModal, field_row
from storyengine_tui.widgets.fields.one_line import FormField

MOST_TOKENS: Final = 1_000_000
_NUMBERS: Final[Mapping[str, int]] = {"scan_depth": GREATEST_DEPTH, "token_budget": MOST_TOKENS}


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedBook:
    """The fields of a book as they were typed; a number that is blank is left to the settings."""

    groups: str
    scan_depth: str
    token_budget: str
    is_recursive: str

    @classmethod
    def of(cls, groups: tuple[str, ...], book: Lorebook) -> Self:
        """Return the fields that show a book."""
        word = next(word for word, value in SWITCHES.items() if value is book.is_recursive)
        numbers = ("" if value is None else str(value) for value in (book.scan_depth, book.token_budget))
        depth, budget = numbers
        return cls(groups=shown_names(groups), scan_depth=depth, token_budget=budget, is_recursive=word)

    def group_names(self, before: tuple[str, ...]) -> tuple[str, ...]:
        """Return the groups that were typed where these were; none for `General` alone, which it means."""
        names = tuple(dict.fromkeys(typed_names(self.groups, before)))
        return () if names == (GENERAL,) else names

    def problem(self, kept: KeptLorebook) -> str:
        """Return what is wrong with the first field that cannot be stored; `kept` is as the book was."""
        names = self.group_names(kept.groups)
        for problem in problems_of_groups(names, kept.groups):
            return problem
        for problem in problems_of_lorebook(cleaned_lorebook(replace(kept, groups=names))):
            return problem
        for name, called in (("scan_depth", "The scan depth"), ("token_budget", "The budget")):
            text, most = getattr(self, name).strip(), _NUMBERS[name]
            number = read_count(text)
            if text and (number is None or number > most):
                return f"{called} is a whole number up to {most:,}, or blank."
        return ""

    def put_into(self, book: Lorebook) -> Lorebook:
        """Return the book with these fields, of which none has a problem."""
        return replace(
            book,
            scan_depth=read_count(self.scan_depth),
            token_budget=read_count(self.token_budget),
            is_recursive=SWITCHES[self.is_recursive],
        )


class BookFieldsModal(FormModal[TypedBook, TypedBook]):
    """Ends with the typed settings."""

    AUTO_FOCUS = "#groups"
    HELP = (
        "A lorebook is for the groups that you name, with semicolons between them. How many of the newest "
        "messages are scanned, and how many tokens its entries may take, is left to the settings when blank."
    )

    def __init__(self, kept: KeptLorebook, shown: TypedBook, *, can_write: bool) -> None:
        super().__init__()
        self._book = kept
        self._shown = shown
        self._can_write = can_write
        self.heading = kept.name

    def compose_fields(self) -> ComposeResult:
        """Compose the fields."""
        shown = self._shown
        holder = f"{GENERAL}, or names with semicolons between"
        yield field_row(
            "For the groups", FormField(shown.groups, compact=True, placeholder=holder, id="groups")
        )
        for name, label in (("scan_depth", "Scan depth"), ("token_budget", "Budget in tokens")):
            value = getattr(shown, name)
            field = FormField(value, compact=True, max_length=9, placeholder="as the settings say", id=name)
            field.disabled = not self._can_write
            yield field_row(label, field)
        words = [(word, word) for word in SWITCHES]
        choice = GuardedSelect[str](
            words, value=shown.is_recursive, allow_blank=False, compact=True, id="is_recursive"
        )
        choice.disabled = not self._can_write
        yield field_row("Entries activate others", choice)

    @property
    def typed(self) -> TypedBook:
        """The contents of the fields."""
        chosen = self.query_one("#is_recursive", Select).value

        def text(field: str) -> str:
            return self.query_one(f"#{field}", Input).value

        return TypedBook(
            groups=text("groups"),
            scan_depth=text("scan_depth"),
            token_budget=text("token_budget"),
            is_recursive=chosen if isinstance(chosen, str) else self._shown.is_recursive,
        )

    async def store(self, typed: TypedBook) -> TypedBook:
        """Return what was typed; raises IllegalCommandError for the first field that cannot be stored."""
        if problem := typed.problem(self._book):
            raise IllegalCommandError(problem)
        return typed
