"""One secret as it is edited: its text, who knows it, and its reveal (design 13)."""

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Input, Select, Static

from core.domain.errors import StoryEngineError
from core.domain.session.profile import groups_in, lines_of
from core.domain.session.state_machine import Command
from core.engine.session.session_handle import SessionHandle
from core.text.cleaning import clean_line, is_blank
from storyengine_tui.screens.setup.secrets.secrets_view import (
    TypedSecret,
    find,
    first_words,
    known_line,
    room_for,
    seeing_line,
    typed_of,
)
from storyengine_tui.screens.shared.autosaved_screen import AutosavedScreen, EditorHost
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.textual_ext.repairs.option_lists import GuardedSelect
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.stored_text_modal import BEGUN
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea, CharCounter
from storyengine_tui.widgets.fields.one_line import FormField
from storyengine_tui.widgets.fields.slot_checks import SlotChecks
from storyengine_tui.widgets.key_line import KeyLine
from storyengine_tui.widgets.text_line import show_line

PLACEHOLDER = "What is true, and not known to all."
FIXED = "Text and those who know it stay as they were locked; a reveal can be planned."
NEW_WHEN_LOCKED = "The chapter is played: once added, the text stays as it is."


class SecretScreen(AutosavedScreen):
    """Edits the secret with a number; the number behind the last one begins a new secret.

    What is typed is stored by itself, as on tab 1. A new secret of a chapter that is played is stored by its
    button, for it cannot be changed any more; until then a file keeps its text: the program may be killed.
    """

    CSS_PATH = "secret_screen.tcss"
    HELP = (
        "A secret is given to those who know it, with every call, and to the narrative. If you tick no "
        "character, only you know it. A planned reveal comes with that prompt: from then on those chosen "
        "know it. Where characters have groups, a choice below their names adds those who see one at the "
        "lock; chosen once more, it takes them out."
    )

    _text = getters.query_one("#text", CappedTextArea)

    def __init__(self, workspace: EditorHost, session: SessionHandle, number: int) -> None:
        super().__init__(workspace, session)
        self._number = number
        self._kept = KeptText.of("secret", session.id, workspace.paths.data)
        snapshot = session.snapshot
        self._is_new = find(snapshot, number) is None
        self._is_fixed = snapshot.session.tab1_locked and not self._is_new
        self._waits_for_button = snapshot.session.tab1_locked and self._is_new
        self._groups = typed_of(find(snapshot, number)).groups
        self._begun = self._kept.read() if self._waits_for_button else ""

    def compose(self) -> ComposeResult:
        """Compose the text, and below it its knowers and the recipients of its reveal."""
        snapshot = self._session.snapshot
        typed, roster = typed_of(find(snapshot, self._number)), snapshot.session.roster
        text = typed.text or self._begun
        room = max(room_for(snapshot, self._number), len(text))
        with Horizontal(classes="line"):
            yield Static("New secret" if self._is_new else f"Secret {self._number}", classes="label")
            yield Static("", id="saved", markup=False)
            yield CharCounter(room, length=len(text), id="counter")
        yield CappedTextArea(text, limit=room, placeholder=PLACEHOLDER, id="text")
        yield Static(self._note, id="note", markup=False)
        with Horizontal(id="characters"):
            with Vertical():
                yield Static("Who knows it", classes="line label")
                yield SlotChecks(roster, typed.known_by, id="known-by")
                groups = lines_of((*groups_in(snapshot.session.slots, snapshot.tab1.profiles), *self._groups))
                if groups:
                    options = [(Content(clean_line(one)), one) for one in groups]
                    yield GuardedSelect(options, prompt="And those who see …", compact=True, id="group")
                    yield Static("", id="seeing", markup=False)
            with Vertical():
                with Horizontal(classes="line"):
                    yield Static("Revealed at prompt ", classes="label")
                    yield FormField(
                        typed.reveal_at,
                        compact=True,
                        max_length=7,
                        restrict=r"[0-9]*",
                        placeholder="–",
                        id="reveal-at",
                    )
                    yield Static(" to", classes="label")
                yield SlotChecks(roster, typed.reveal_to, id="reveal-to")
                yield Static("", id="known", markup=False)
        yield Static("", id="problem", markup=False)
        yield Button("Add the secret", id="add", compact=True)
        yield Banner(id="result")
        yield KeyLine(offers_palette=False)

    @property
    def _note(self) -> str:
        if self._waits_for_button:
            return f"{BEGUN} {NEW_WHEN_LOCKED}" if self._begun else NEW_WHEN_LOCKED
        return FIXED if self._is_fixed else ""

    def on_mount(self) -> None:
        """Show what is stored; what cannot be changed is read."""
        is_editable = self._is_editable
        self._text.read_only = self._is_fixed or not is_editable
        for chosen in self.query("#known-by, #group"):
            chosen.disabled = self._is_fixed or not is_editable
        for name in ("#reveal-at", "#reveal-to"):
            self.query_one(name).disabled = not is_editable
        self.query_one("#note").display = bool(self._note)
        self.query_one("#add").display = self._waits_for_button
        self._show_groups()
        self._show_problem()
        self.set_focus(self.query_one("#reveal-at") if self._is_fixed and is_editable else self._text)

    @property
    def _is_editable(self) -> bool:
        return self._session.can(Command.EDIT_SECRETS)

    @property
    def _what(self) -> str:
        return f"secret.{self._number}"

    @property
    def _typed(self) -> TypedSecret:
        return TypedSecret(
            text=self._text.text,
            known_by=self.query_one("#known-by", SlotChecks).audience,
            groups=self._groups,
            reveal_at=self.query_one("#reveal-at", Input).value,
            reveal_to=self.query_one("#reveal-to", SlotChecks).audience,
        )

    @property
    def _problem(self) -> str:
        return self._typed.put_into(self._session.snapshot, self._number)[1]

    def _show_problem(self) -> None:
        problem = self._problem
        show_line(self, "#problem", problem)
        self.query_one("#add", Button).disabled = bool(problem) or is_blank(self._text.text)
        show_line(self, "#known", known_line(self._typed, self._session.snapshot, self._number))

    # Storing what is typed

    async def flush(self) -> None:
        """Store what was typed, or keep a text that waits for the button; raises StoryEngineError."""
        if self._waits_for_button:
            self._kept.keep(self._text.text, is_flushed=True)
        else:
            await super().flush()

    async def _save(self) -> None:
        snapshot = self._session.snapshot
        secrets, _ = self._typed.put_into(snapshot, self._number)
        if secrets != snapshot.secrets:
            await self._session.scene.edit_secrets(secrets)

    def _show_groups(self) -> None:
        if self.query("#seeing"):
            show_line(self, "#seeing", seeing_line(self._groups, self._session.snapshot))

    @on(Select.Changed, "#group")
    def _choose_group(self, event: Select.Changed) -> None:
        """Let those who see a group know the secret; chosen once more, no longer."""
        event.stop()
        if not isinstance(event.value, str):
            return
        others = tuple(one for one in self._groups if one != event.value)
        self._groups = others if event.value in self._groups else (*self._groups, event.value)
        self._show_groups()
        self.query_one("#group", GuardedSelect).clear()
        self._go_on_storing()

    @on(CappedTextArea.Edited)
    @on(Input.Changed)
    @on(SlotChecks.Changed)
    def _touch(self, event: CappedTextArea.Edited | Input.Changed | SlotChecks.Changed) -> None:
        event.stop()
        self._go_on_storing()

    def _go_on_storing(self) -> None:
        self.query_one(CharCounter).show(self._text.length)
        self._show_problem()
        if self._waits_for_button:
            self._kept.keep(self._text.text)
        else:
            self._touch_typed()

    @on(Button.Pressed, "#add")
    def _add(self) -> None:
        self.run_worker(self._store_and_close(), group="close", exclusive=True, exit_on_error=False)

    async def _store_and_close(self) -> None:
        try:
            await self._save()
        except StoryEngineError as error:
            self._say_unsaved(error)
            return
        self._kept.forget()
        self._kept_text.forget()
        self.notify(f"Secret {self._number} is added: “{first_words(self._text.text)}”.", markup=False)
        self.dismiss()

    # Leaving

    @property
    def _loss(self) -> str:
        if self._waits_for_button and not is_blank(self._text.text):
            return "It is not part of the chapter yet, and your text will be deleted."
        return self._problem

    def _leave(self, is_sure: bool | None) -> None:
        if is_sure and self._waits_for_button:
            self._kept.forget()
        super()._leave(is_sure)
