"""The panels of the characters on tab 1, of which one shows; each is created when it is first shown."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from core.domain.ids import CharacterId
from core.domain.session.cast import Cast, Character
from core.domain.session.limits import LONGEST_NAME, Limits
from core.domain.session.profile import (
    LONGEST_MODEL,
    LONGEST_SHORT_DESCRIPTION,
    MOST_ALIASES,
    MOST_GROUPS,
    NO_PROFILE,
    Profile,
    Profiles,
    profile_text,
)
from core.domain.slot import Slot, first_slots
from core.library.characters.in_chapter import SharedField, with_field
from core.text.cleaning import clean_line, is_blank
from storyengine_tui.screens.setup.held_edit import HeldEdit
from storyengine_tui.screens.shared.background import remove
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea, CharCounter, HelpedText
from storyengine_tui.widgets.fields.one_line import LineField
from storyengine_tui.widgets.text_line import show_line

IDENTITY_PLACEHOLDER: Final = "Who this character is: nature, history, voice, wishes, secrets."
_ROOM = {
    SharedField.SHORT_DESCRIPTION: LONGEST_SHORT_DESCRIPTION,
    SharedField.ALIASES: MOST_ALIASES * LONGEST_NAME,
    SharedField.GROUP: LONGEST_NAME,
    SharedField.GROUPS_VISIBLE: MOST_GROUPS * LONGEST_NAME,
    SharedField.MODEL: LONGEST_MODEL,
}


class CharacterPanel(Vertical):
    """Holds what the GM typed for one slot, also while it is hidden."""

    HELP = "A blank name means the default name. Only this character is told its identity."

    class Edited(Message):
        """The name or the identity was changed."""

    def __init__(self, limits: Limits, stored: Character, *, is_read_only: bool) -> None:
        self.slot = slot = stored.slot
        super().__init__(classes=f"-character-{slot.colour}")
        self._is_read_only = is_read_only
        self._name_field = LineField(
            stored.given_name, limit=limits.name, placeholder=slot.default_name, classes="name"
        )
        self._name_field.soft_wrap = False
        self._identity_area = CappedTextArea(
            stored.identity, limit=limits.identity, placeholder=IDENTITY_PLACEHOLDER, classes="identity"
        )
        self._identity_area.helped = HelpedText("identity", f"Identity of {stored.name}", slot)
        self._counter = CharCounter(limits.identity, length=len(stored.identity))
        self._profile = stored.profile
        self._shown_profile = NO_PROFILE
        self._clash = ""

    def compose(self) -> ComposeResult:
        """Compose the name, the counter, a line for problems, and the identity."""
        with Horizontal(classes="name-line"):
            yield Static(f"{int(self.slot)} Name ", classes="label")
            yield self._name_field
            yield Static(classes="gap")
            yield self._counter
        yield Static(classes="profile", markup=False)
        yield Static(classes="problem", markup=False)
        yield self._identity_area

    def on_mount(self) -> None:
        """Set the access here: a text area applies the style of `read_only` only when it changes."""
        self.set_read_only(self._is_read_only)
        self._show_profile()

    @property
    def character_name(self) -> str:
        """The typed name; blank means the default."""
        return self._name_field.text

    @property
    def identity(self) -> str:
        """The typed identity."""
        return self._identity_area.text

    @property
    def profile(self) -> Profile:
        """Data of a character of the library; empty while the panel is."""
        is_empty = is_blank(self.character_name) and is_blank(self.identity)
        return NO_PROFILE if is_empty else self._profile

    @property
    def called(self) -> str:
        """The name of the character, also where it is the default."""
        return clean_line(self.character_name) or self.slot.default_name

    @property
    def is_editable(self) -> bool:
        """Whether the texts can be changed: not those of a chapter that was left."""
        return self.is_attached and not self._name_field.read_only

    def room_for(self, field: SharedField) -> int:
        """Return how many characters a field has at most."""
        return _ROOM.get(field) or self._area_of(field).limit

    def set_field(self, field: SharedField, text: str) -> None:
        """Put a text into a field; name and identity can undo it, and an empty panel forgets the rest."""
        if field in _ROOM:
            self._take_profile(with_field(self._profile, field, text))
        else:
            area = self._area_of(field)
            area.replace(text, (0, 0), area.document.end)

    def link(self, character_id: CharacterId, tags: tuple[str, ...] | None = None) -> None:
        """Remember which character of the library this is a copy of, and the tags of its card if known."""
        known = self._profile.tags if character_id == self._profile.character_id else ()
        self._take_profile(
            replace(self._profile, character_id=character_id, tags=known if tags is None else tags)
        )

    def _take_profile(self, profile: Profile) -> None:
        self._profile = profile
        self._show_profile()
        self.post_message(self.Edited())

    def _show_profile(self) -> None:
        if self.profile == self._shown_profile:
            return  # An update lays the page out again, and this is asked with every letter.
        self._shown_profile = self.profile
        line = self.query_one(".profile", Static)
        line.update(profile_text(self.profile))
        line.display = bool(self.profile)

    def _area_of(self, field: SharedField) -> CappedTextArea:
        return self._name_field if field is SharedField.NAME else self._identity_area

    def show_stored(self, stored: Character) -> None:
        """Show what is stored; a text that does not differ keeps its cursor."""
        if self._name_field.text != stored.given_name:
            self._name_field.load_text(stored.given_name)
        if self._identity_area.text != stored.identity:
            self._identity_area.load_text(stored.identity)
            self._identity_area.action_document_end(False)
        self._counter.show(self._identity_area.length)
        if self.profile != stored.profile:
            self._profile = stored.profile
        self._show_profile()

    def put_back(self, held: HeldEdit) -> None:
        """Put an edit of this character into the fields, which show what is stored."""
        self._name_field.text = held.edit.names.get(self.slot, self._name_field.text)
        self._identity_area.text = held.identity(self.slot, self._identity_area.text)
        self._take_profile(held.edit.profiles.get(self.slot, self._profile))

    def set_read_only(self, is_read_only: bool) -> None:
        """Make the text read-only or editable."""
        self._name_field.read_only = self._identity_area.read_only = is_read_only

    def say_clash(self, name: str) -> None:
        """Say that another character is called `name`; an empty name clears that."""
        self._clash = f"Another character is called {name}; choose another name." if name else ""
        self._show_problem()

    def _show_problem(self) -> None:
        """Say what is wrong in a line of its own: the two fields have no border for a subtitle."""
        sentences = [self._clash] if self._clash else []
        if self._name_field.says_full:
            sentences.append(
                f"A name has at most {self._name_field.limit} characters; the rest was not taken."
            )
        if self._identity_area.says_full:
            sentences.append(f"{self._identity_area.full_sentence}.")
        show_line(self, ".problem", "\n".join(sentences))

    @property
    def fields(self) -> tuple[CappedTextArea, CappedTextArea]:
        """The name and the identity, in the order of Tab."""
        return self._name_field, self._identity_area

    def focus_name(self) -> None:
        """Focus the name immediately, so that keys already queued go there."""
        self.screen.set_focus(self._name_field)

    @on(CappedTextArea.LimitReached)
    def _say_limit(self) -> None:
        self._show_problem()

    @on(CappedTextArea.Edited)
    def _handle_text(self, event: CappedTextArea.Edited) -> None:
        event.stop()
        self._counter.show(self._identity_area.length)
        self._profile = self.profile
        self._show_profile()
        self._show_problem()
        self.post_message(self.Edited())


class CastPanels(Vertical):
    """Holds what the GM typed for every character whose panel was ever shown."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._panels: dict[Slot, CharacterPanel] = {}
        self._is_read_only = False
        self.slot = Slot.RED
        """The character whose panel shows."""

    async def clear(self) -> None:
        """Remove every panel, before another session is shown."""
        # At once: a key may show a panel of the next session while these are removed.
        gone, self._panels, self.slot = self._panels, {}, Slot.RED
        await remove(gone.values())

    @property
    def names(self) -> Mapping[Slot, str]:
        """The typed names."""
        return {slot: panel.character_name for slot, panel in self._panels.items()}

    @property
    def identities(self) -> Mapping[Slot, str]:
        """The typed identities."""
        return {slot: panel.identity for slot, panel in self._panels.items()}

    @property
    def profiles(self) -> Profiles:
        """Data of characters of the library, by slot."""
        return {slot: panel.profile for slot, panel in self._panels.items()}

    @property
    def shown(self) -> CharacterPanel | None:
        """The panel that shows; None before the first does."""
        return self._panels.get(self.slot)

    def show_stored(self, cast: Cast) -> None:
        """Show the stored texts in every panel."""
        for slot, panel in self._panels.items():
            panel.show_stored(cast[slot])

    def set_read_only(self, is_read_only: bool) -> None:
        """Make the texts read-only or editable."""
        self._is_read_only = is_read_only
        for panel in self._panels.values():
            panel.set_read_only(is_read_only)

    def say_clashes(self, doubles: Mapping[Slot, str]) -> None:
        """Say in the panel of each slot of `doubles` that another character has this name."""
        for slot, panel in self._panels.items():
            panel.say_clash(doubles.get(slot, ""))

    async def show(self, slot: Slot, cast: Cast, limits: Limits, character_count: int) -> None:
        """Show the panel of `slot`, or the last of so many; it takes the focus from another panel."""
        slots = first_slots(character_count)
        self.slot = slot if slot in slots else slots[-1]
        await self._make(self.slot, cast, limits)
        if self.shown is None:  # Cleared while the panel was created.
            return
        shown, focused = self.shown, self.screen.focused
        around = focused.ancestors if focused is not None else []
        is_leaving = any(panel in around for panel in self._panels.values() if panel is not shown)
        for panel in self._panels.values():
            panel.display = panel is shown
        if is_leaving:
            shown.focus_name()

    async def _make(self, slot: Slot, cast: Cast, limits: Limits) -> None:
        if slot not in self._panels:
            panel = CharacterPanel(limits, cast[slot], is_read_only=self._is_read_only)
            panel.display = slot is self.slot
            self._panels[slot] = panel
            await self.mount(panel)
            panel.fields[1].action_document_end(False)

    async def put_back(self, held: HeldEdit, cast: Cast, limits: Limits) -> None:
        """Put an edit of the characters into their panels, which show what is stored."""
        for slot in held.slots:
            await self._make(slot, cast, limits)
            if slot in self._panels:  # Not cleared meanwhile.
                self._panels[slot].put_back(held)

    def neighbour(self, focused: Widget, step: int, character_count: int) -> Slot | None:
        """Return the slot that Tab (1) or Shift+Tab (-1) goes to from `focused`; None within a panel."""
        slots, panel = first_slots(character_count), self.shown
        to = slots.index(self.slot) + step
        if panel is None or not 0 <= to < len(slots):
            return None
        name, identity = panel.fields
        return slots[to] if focused is (identity if step > 0 else name) else None
