"""Edits an item of the bank, or adds one of the GM's own."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from core.domain.audience import EVERYONE, Audience
from core.domain.bank.checks import LONGEST_DETAIL
from core.domain.bank.details import DETAILS_OF, Aspect, Details, ItemKind, StateDetails
from core.domain.bank.item import LONGEST_ITEM_NAME, LONGEST_TEXT, MOST_PARTICIPANTS, Item
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.engine.services.bank.item_changes import NewItem
from core.text.cleaning import clean_line
from storyengine_tui.screens.bank.detail_fields import CHOICES, label_of, read, shown, typed_fields
from storyengine_tui.screens.bank.item_numbers import (
    read_decay,
    read_prompt,
    read_share,
    shown_decay,
    shown_prompt,
    shown_share,
)
from storyengine_tui.textual_ext.repairs.option_lists import GuardedSelect
from storyengine_tui.widgets.dialogs.form_modal import FormModal, field_row
from storyengine_tui.widgets.dialogs.storing_modal import UnstoredText
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.fields.one_line import LineField
from storyengine_tui.widgets.fields.slot_checks import SlotChecks

YES_OR_NO: Final[list[tuple[str, Any]]] = [("no", False), ("yes", True)]


class ItemFieldsModal(FormModal[bool, Sequence[object]]):
    """Ends with True once what was typed is stored."""

    AUTO_FOCUS = "#text"

    def compose_words(self, name: str, text: str) -> ComposeResult:
        """Compose name and text."""
        yield from self.compose_line("name", "Name", name, LONGEST_ITEM_NAME)
        yield CappedTextArea(text, limit=LONGEST_TEXT, placeholder="What is true", id="text")

    def compose_line(self, name: str, label: str, text: str, limit: int) -> ComposeResult:
        """Compose a label and a field of one line."""
        yield field_row(label, LineField(text, limit=max(limit, len(text)), id=name))

    def compose_numbers(self, *numbers: tuple[str, str, str]) -> ComposeResult:
        """Compose fields with short texts on one line: name, label and text of each."""
        with Horizontal(classes="dialog--choice"):
            for name, label, text in numbers:
                yield Static(label, classes="dialog--label")
                yield LineField(text, limit=max(12, len(text)), id=name)

    def compose_choice(
        self, name: str, label: str, options: Sequence[tuple[str | Text, Any]], value: Any
    ) -> ComposeResult:
        """Compose a label and a choice."""
        yield _choice_row(name, label, options, value)

    def text_in(self, name: str) -> str:
        """Return what is typed in a field."""
        return self.query_one(f"#{name}", CappedTextArea).text

    @property
    def typed(self) -> Sequence[object]:
        """The texts and the choices."""
        texts = [field.text for field in self.query(CappedTextArea)]
        return [*texts, *(choice.value for choice in self.query(GuardedSelect))]


class ItemModal(ItemFieldsModal):
    """Edits an item: the GM's words are not replaced by those of a model."""

    HELP = (
        "No model replaces your text. Ctrl+S saves it, u in the list undoes it. Who may know it does not "
        "change: that follows from its sources.\n\n"
        "Fading is the share of its importance that an item loses with each prompt, unless it is recalled: "
        "0.002 leaves half of it after 350 prompts, “never” leaves all. An item with a last prompt is not "
        "recalled after it, unless you pinned or confirmed it.\n\n"
        "A quote can prove other items of this chapter: type their names, or the ids that Enter shows, with "
        "semicolons between."
    )

    def __init__(
        self,
        item: Item,
        roster: Sequence[tuple[Slot, str]],
        store: Callable[[Item], Awaitable[object]],
        counting: Callable[[], Awaitable[Sequence[Item]]],
        kept: UnstoredText | None = None,
    ) -> None:
        """Edit an item; `roster` are the characters that it can be about, `counting` returns what counts."""
        super().__init__(kept)
        self._counting = counting
        self._others: Sequence[Item] = ()
        """The items that a quote can prove."""
        self._item = item
        self.heading = f"Edit this {item.kind.value}"
        self._roster = roster
        self._store = store

    def compose_fields(self) -> ComposeResult:
        """Compose name, text, details, whom it is about, and how it is recalled."""
        item = self._item
        yield from self.compose_words(clean_line(item.name), item.text)
        for name, value in typed_fields(item.details):
            if isinstance(value, bool):
                yield from self.compose_choice(name, label_of(name), YES_OR_NO, value)
            elif name in CHOICES:
                options = [(text, text) for text in CHOICES[name]]
                yield from self.compose_choice(name, label_of(name), options, str(value))
            else:
                limit = MOST_PARTICIPANTS * LONGEST_DETAIL if isinstance(value, tuple) else LONGEST_DETAIL
                yield from self.compose_line(name, label_of(name), shown(name, value), limit)
        about = 0 if item.about is None else item.about.value
        yield from self.compose_choice("about", "About", _about(self._roster), about)
        yield from self.compose_numbers(
            ("importance", "Importance", shown_share(item.importance)),
            ("confidence", "Confidence", shown_share(item.confidence)),
        )
        yield from self.compose_numbers(
            ("decay", "Fading", shown_decay(item.decay_rate)),
            ("until", "Last prompt", shown_prompt(item.expires_at)),
        )
        yield from self.compose_numbers(("sentiment", "Sentiment", shown_share(item.sentiment)))

    async def store(self, typed: Sequence[object]) -> bool:
        """Store the item with the values of the fields."""
        if self._item.kind is ItemKind.QUOTE:
            self._others = await self._counting()
        await self._store(self.edited())
        return True

    def edited(self) -> Item:
        """Return the item with the values of the fields; raise IllegalCommandError for an invalid number."""
        values: dict[str, Any] = {
            name: self._value(name, before) for name, before in typed_fields(self._item.details)
        }
        return replace(
            self._item,
            name=self.text_in("name"),
            text=self.text_in("text"),
            details=replace(self._item.details, **values),
            about=_slot_of(self.query_one("#about", GuardedSelect).value),
            importance=read_share(self.text_in("importance"), self._item.importance),
            confidence=read_share(self.text_in("confidence"), self._item.confidence),
            decay_rate=read_decay(self.text_in("decay"), self._item.decay_rate),
            expires_at=read_prompt(self.text_in("until")),
            sentiment=read_share(self.text_in("sentiment"), self._item.sentiment, least=-1),
        )

    def _value(self, name: str, before: object) -> object:
        if isinstance(before, bool):
            return self.query_one(f"#{name}", GuardedSelect).value is True
        if name in CHOICES:
            return read(name, str(self.query_one(f"#{name}", GuardedSelect).value), before)
        typed = self.text_in(name)
        return read(name, _named(typed, self._roster) if name == "other" else typed, before, self._others)


class AddItemModal(ItemFieldsModal):
    """Adds an item of the GM's own, for those who are ticked."""

    AUTO_FOCUS = "#name"
    SAVE = "Add"
    heading = "Add to the bank"
    HELP = "An item that you add is confirmed, and known to those that you tick. Ctrl+S saves it."

    def __init__(
        self,
        session: Session,
        store: Callable[[Session, NewItem], Awaitable[object]],
        kind: ItemKind,
        about: Slot | None = None,
        kept: UnstoredText | None = None,
    ) -> None:
        super().__init__(kept)
        self._session = session
        self._store = store
        self._kind = kind
        aspects = [(text, text) for text in CHOICES["aspect"]]
        self._aspect = _choice_row("aspect", label_of("aspect"), aspects, Aspect.OTHER.value)
        self._aspect.display = kind is ItemKind.STATE
        toward = LineField("", limit=LONGEST_DETAIL, id="other", placeholder="A character, or anyone else")
        self._toward = field_row(label_of("other"), toward)
        self._toward.display = False
        self._about = 0 if about is None else about.value

    def compose_fields(self) -> ComposeResult:
        """Compose kind, character, name, text, and who knows it."""
        roster = self._session.roster
        kinds = [(kind.value, kind.value) for kind in ItemKind]
        yield from self.compose_choice("kind", "Kind", kinds, self._kind.value)
        yield from self.compose_choice("about", "About", _about(roster), self._about)
        yield self._aspect
        yield self._toward
        yield from self.compose_words("", "")
        yield Static("Known to", classes="dialog--muted")
        yield SlotChecks(roster, EVERYONE, id="known-to")

    def show_restored(self) -> None:
        """Choose a relation where it was typed toward whom it is: that field is hidden for anything else."""
        if self.text_in("other"):
            self.query_one("#kind", GuardedSelect).value = ItemKind.STATE.value
            self.query_one("#aspect", GuardedSelect).value = Aspect.RELATION.value

    async def store(self, typed: Sequence[object]) -> bool:
        """Store it."""
        audience: Audience = self.query_one(SlotChecks).audience
        details: Details = DETAILS_OF[self._kind_now]()
        if isinstance(details, StateDetails):
            other = _named(self.text_in("other"), self._session.roster) if self._is_relation else ""
            details = StateDetails(aspect=self._aspect_now, other=other)
        about = _slot_of(self.query_one("#about", GuardedSelect).value)
        added = NewItem(self.text_in("name"), self.text_in("text"), details, audience, about)
        await self._store(self._session, added)
        return True

    @on(GuardedSelect.Changed, "#kind, #aspect")
    def _show_fields_of_kind(self) -> None:
        """Show the part of the sheet of a state, and of a relation the field of the other one."""
        self._aspect.display = self._kind_now is ItemKind.STATE
        self._toward.display = self._is_relation

    @property
    def _kind_now(self) -> ItemKind:
        return ItemKind(str(self.query_one("#kind", GuardedSelect).value))

    @property
    def _aspect_now(self) -> Aspect:
        return Aspect(str(self.query_one("#aspect", GuardedSelect).value))

    @property
    def _is_relation(self) -> bool:
        return self._kind_now is ItemKind.STATE and self._aspect_now is Aspect.RELATION


def _choice_row(name: str, label: str, options: Sequence[tuple[str | Text, Any]], value: Any) -> Horizontal:
    """Return a choice behind its label."""
    choice = GuardedSelect(options, value=value, allow_blank=False, compact=True, id=name)
    return field_row(label, choice)


def _about(roster: Sequence[tuple[Slot, str]]) -> list[tuple[str | Text, Any]]:
    """Return the choice of the character that an item is about; 0 is no one."""
    # A Text: names of characters are not markup, and a letter that is typed goes to one of them.
    names = ((Text(clean_line(name)), slot.value) for slot, name in roster)
    return [("no character of the cast", 0), *names]


def _named(typed: str, roster: Sequence[tuple[Slot, str]]) -> str:
    """Return a name that was typed, or that of the character whose number was."""
    return {str(slot.value): name for slot, name in roster}.get(typed.strip(), typed.strip())


def _slot_of(chosen: object) -> Slot | None:
    return Slot(chosen) if isinstance(chosen, int) and chosen else None
