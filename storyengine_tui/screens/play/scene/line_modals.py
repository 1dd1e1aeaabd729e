"""The dialogs of tab 2 for lines of the GM: narration, a roll, a revealed secret (design 13)."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import ClassVar

from textual import events, getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Button, Static
from textual.widgets.option_list import Option

from core.domain.errors import IllegalCommandError
from core.domain.slot import Slot
from core.domain.story.secret import Secret, label_of
from core.engine.session.session_handle import SessionHandle
from core.text.cleaning import clean_line, is_blank
from storyengine_tui.textual_ext.repairs.option_lists import GuardedOptionList
from storyengine_tui.widgets.dialogs.confirm_modal import NOT_STORED
from storyengine_tui.widgets.dialogs.storing_modal import StoringModal, UnstoredText
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea, run_binding_now
from storyengine_tui.widgets.fields.one_line import LineField
from storyengine_tui.widgets.fields.slot_checks import SlotChecks

LONGEST_NOTATION = 40
LONGEST_TITLE = 58
"""Characters of a secret in the list."""


class AddedLineModal(StoringModal[None]):
    """Stores a line."""

    HEADING: ClassVar[str]
    NOTE: ClassVar[str]
    SAVE_ACTION = "store"
    WHO: ClassVar = "Who witnesses it:"
    REFUSED = ""

    _checks = getters.query_one(SlotChecks)

    def __init__(self, session: SessionHandle) -> None:
        super().__init__()
        self._session = session

    def compose(self) -> ComposeResult:
        """Compose what it does, its fields, who witnesses it, and the two answers."""
        with Vertical(classes="dialog--box"):
            yield Static(self.HEADING, classes="dialog--title")
            yield Static(self.NOTE, classes="dialog--muted")
            yield from self.compose_fields()
            yield Static(self.WHO, classes="dialog--muted dialog--who")
            yield SlotChecks(self._session.snapshot.session.roster, self.ticked())
            yield from self.compose_answers(self.SAVE, "store")

    def compose_fields(self) -> ComposeResult:
        """Compose what is written or chosen beside the list."""
        yield from ()

    def ticked(self) -> Iterable[Slot]:
        """Return who witnesses it, unless the GM chooses others: those in the scene."""
        return self._session.snapshot.session.here

    @abstractmethod
    async def store(self, hearers: tuple[Slot, ...]) -> None:
        """Store the line; raises StoryEngineError when it is refused."""

    async def store_typed(self) -> None:
        """Store the line for those who are ticked."""
        await self.store(self._checks.ticked)

    def show_refusal(self, text: str) -> None:
        """Show it, and let the GM edit what was typed."""
        super().show_refusal(text)
        self.query(self.AUTO_FOCUS or "SlotChecks").first().focus()


class NarrationModal(AddedLineModal):
    """Writes a line of the GM; it begins with the text of `kept`, which was typed before and not stored."""

    HEADING = "Add a line"
    NOTE = "It comes after the newest prompt, and no character answers it."
    SAVE = "Add"
    PLACEHOLDER: ClassVar = "What happens, such as: The lamp goes out."
    AUTO_FOCUS = "CappedTextArea"

    _area = getters.query_one(CappedTextArea)

    def __init__(self, session: SessionHandle, kept: UnstoredText | None = None) -> None:
        super().__init__(session)
        self._file = kept

    def compose_fields(self) -> ComposeResult:
        """Compose the field."""
        begun = "" if self._file is None else self._file.read()
        limit = max(self._session.snapshot.session.limits.prompt, len(begun))
        yield CappedTextArea(begun, limit=limit, placeholder=self.PLACEHOLDER)

    @on(CappedTextArea.Edited)
    def _keep(self) -> None:
        if self._file is not None:
            self._file.keep("" if is_blank(self._area.text) else self._area.text)

    async def store(self, hearers: tuple[Slot, ...]) -> None:
        """Store the text as a line."""
        await self.store_text(self._area.text, hearers)
        if self._file is not None:
            self._file.forget()

    async def store_text(self, text: str, hearers: tuple[Slot, ...]) -> None:
        """Store this text; raises StoryEngineError when it is refused."""
        await self._session.scene.narrate(text, hearers=hearers)

    @property
    def unsaved(self) -> str:
        """That the line is not stored, where no file has it."""
        return NOT_STORED if self._file is None and not is_blank(self._area.text) else ""


class SceneModal(NarrationModal):
    """Begins a new scene, with a line if one is written."""

    HEADING = "New scene"
    NOTE = "Recent context begins here; what was played before stays in it until it is in memory."
    SAVE = "Begin"
    PLACEHOLDER = "Where and when; may be empty"

    async def store_text(self, text: str, hearers: tuple[Slot, ...]) -> None:
        """Begin the scene with this line."""
        await self._session.scene.begin_scene(text, hearers=hearers)


class DiceModal(AddedLineModal):
    """Rolls dice."""

    HEADING = "Roll dice"
    NOTE = "Dice like d20, 2d6 or 2d6+1. A model is told the result."
    SAVE = "Roll"
    AUTO_FOCUS = "LineField"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "store_or_tick", "Roll", priority=True)]

    _field = getters.query_one(LineField)

    def __init__(self, session: SessionHandle, notation: str) -> None:
        super().__init__(session)
        self._notation = notation

    def compose_fields(self) -> ComposeResult:
        """Compose the field, with the dice that were rolled last."""
        yield LineField(self._notation, limit=LONGEST_NOTATION, placeholder="d20")

    def on_mount(self) -> None:
        """Select the dice, so that what is typed replaces them."""
        self._field.select_all()

    def action_store_or_tick(self) -> None:
        """Roll by Enter in the field; elsewhere Enter goes to the focused widget."""
        match self.focused:
            case SlotChecks() as checks:
                checks.action_select()
            case Button() as button:
                button.press()
            case _:
                # After the keys of the same packet, which are still in the field's queue.
                self._field.call_later(self.action_store)

    async def store(self, hearers: tuple[Slot, ...]) -> None:
        """Roll, and store the result as a line."""
        await self._session.scene.roll(self._field.text, hearers=hearers)


class SecretList(GuardedOptionList):
    """A list of secrets; `choose` is called with the index of the one at the cursor, and Enter calls `leave`.

    Both are called at once and not by a message, which the next key of the same packet would overtake.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        # With priority: keys behind it are meant for the widget that is focused then.
        Binding("enter,tab", "select", "Choose hearers", show=False, priority=True)
    ]

    def __init__(
        self, titles: Iterable[str], choose: Callable[[int], None], leave: Callable[[], None]
    ) -> None:
        self._choose = choose
        self._leave = leave
        super().__init__(*(Option(Content(title)) for title in titles), id="secrets", markup=False)

    def watch_highlighted(self, highlighted: int | None) -> None:
        """Choose the secret at the cursor."""
        super().watch_highlighted(highlighted)
        if highlighted is not None and self.is_mounted:
            self._choose(highlighted)

    async def on_key(self, event: events.Key) -> None:
        """Move the cursor, or leave the list, before the next key."""
        await run_binding_now(self, event)

    def action_select(self) -> None:
        """Leave the list: the secret at the cursor is chosen already."""
        self._leave()


class RevealModal(AddedLineModal):
    """Reveals a secret."""

    HEADING = "Reveal a secret"
    NOTE = "Its text becomes a line that those you tick witness."
    SAVE = "Reveal"
    WHO = "Reveal to:"
    AUTO_FOCUS = "SecretList"

    _list = getters.query_one(SecretList)

    def __init__(self, session: SessionHandle) -> None:
        super().__init__(session)
        snapshot = session.snapshot
        self._secrets = [one for one in snapshot.secrets if self._ignorant(one)]

    def _ignorant(self, secret: Secret) -> list[Slot]:
        """Return those who do not know a secret."""
        snapshot = self._session.snapshot
        label = label_of(secret, snapshot.reveals)
        return [slot for slot in snapshot.session.slots if slot not in label]

    def compose_fields(self) -> ComposeResult:
        """Compose the secrets that not everyone knows."""
        titles = [f"{secret.number} {clean_line(secret.text)}" for secret in self._secrets]
        shown = [title if len(title) <= LONGEST_TITLE else f"{title[:LONGEST_TITLE]}…" for title in titles]
        yield SecretList(shown, self._tick_ignorant, self._go_to_checks)

    def ticked(self) -> Iterable[Slot]:
        """Return those who do not know the first secret, and are in the scene."""
        return self._ignorant_present(self._secrets[0]) if self._secrets else ()

    def _ignorant_present(self, secret: Secret) -> list[Slot]:
        present = self._session.snapshot.session.here
        return [slot for slot in self._ignorant(secret) if slot in present]

    def _tick_ignorant(self, index: int) -> None:
        self._checks.tick_only(self._ignorant_present(self._secrets[index]))

    def _go_to_checks(self) -> None:
        self.set_focus(self._checks)

    async def store(self, hearers: tuple[Slot, ...]) -> None:
        """Reveal the secret at the cursor."""
        if not hearers or self._list.highlighted is None:
            raise IllegalCommandError("Tick those who learn it.")
        await self._session.scene.reveal(self._secrets[self._list.highlighted].number, hearers)
