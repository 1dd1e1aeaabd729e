"""Opens screens over the chapter; each is imported when it is first needed."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from core.config.files.paths import Paths
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.screens.chapter.chapter_screen import ChapterScreen
from storyengine_tui.screens.chapter.workspace import Workspace
from storyengine_tui.screens.shared.background import run_in_background
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.shell.typed_text import TypedText
from storyengine_tui.textual_ext.painting.diff_display import DiffDisplayApp
from storyengine_tui.textual_ext.repairs.crash_recovery import CrashRecoveryApp
from storyengine_tui.textual_ext.terminal.caret import CaretApp
from storyengine_tui.textual_ext.terminal.clipboard import copy_through_tmux

if TYPE_CHECKING:
    from core.domain.ids import RequestId
    from core.engine.engine import Engine
    from core.engine.session.session_handle import SessionHandle
    from storyengine_tui.screens.models.models_here_screen import FoundModel
    from storyengine_tui.screens.narrative.chapter_build import ChapterBuild
    from storyengine_tui.screens.play.actions.scene_actions import SceneActions
    from storyengine_tui.screens.play.actions.take_actions import TakeActions
    from storyengine_tui.screens.setup.cast_panels import CharacterPanel
    from storyengine_tui.screens.setup.secrets.secrets_cell import SecretsCell
    from storyengine_tui.screens.system.welcome_modal import Choice
    from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea


class OverlayApp(CaretApp, DiffDisplayApp, CrashRecoveryApp):
    """An app with a chapter, over which lists, dialogs and help can be opened.

    A base of the app and no object that it owns: Textual finds actions, bindings, handlers and `on_event` by
    the class of the app, so that each would need a method there that only calls the object.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        # With priority: a key that bubbles up first is overtaken by later keys and pastes.
        Binding("tab", "go_on(1)", "Next field", show=False, priority=True),
        Binding("shift+tab", "go_on(-1)", "Previous field", show=False, priority=True),
    ]

    @dataclass
    class Reconfigured(Message):
        """The GM changed the settings; the engine restarts with them."""

        configuration: Configuration

    configuration: Configuration
    """The settings, once they are read; the chapter has those with which the engine runs."""

    def __init__(self, paths: Paths) -> None:
        super().__init__()
        self.chapter = ChapterScreen()
        self.typed = TypedText(self.chapter)
        self.workspace = Workspace(self.chapter, paths)
        self._welcomes_again = False
        """Whether the welcome opens once the engine has restarted with a model that was chosen there."""

    @property
    def engine(self) -> "Engine | None":
        """The engine, once it runs."""
        return self.workspace.engine

    @property
    def session(self) -> "SessionHandle | None":
        """The open session, once there is one."""
        return self.workspace.session

    def copy_to_clipboard(self, text: str) -> None:
        """Copy `text`, inside tmux as well."""
        super().copy_to_clipboard(text)
        copy_through_tmux(self, text)

    async def on_event(self, event: events.Event) -> None:
        """Type nothing for a key with Alt, and keep what is typed before there is a field."""
        if isinstance(event, events.Key) and event.key.startswith("alt+"):
            event.character = None
        if (
            isinstance(event, events.Key | events.Paste)
            and not event.is_forwarded
            and self.typed.receive(event)
        ):
            return
        await super().on_event(event)

    @property
    def _is_on_chapter(self) -> bool:
        # There is no screen before the first one is pushed and after the last one is removed.
        return bool(self.screen_stack) and self.screen is self.chapter

    @property
    def unsaved(self) -> str:
        """The loss of text over the chapter at the end of the program, in a sentence; empty without any."""
        from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen

        over = (one for one in self.screen_stack if isinstance(one, OverlayScreen) and one.is_mounted)
        return next(filter(None, (one.unsaved for one in over)), "")

    def ask_to_discard(self, loss: str, leave: Callable[[], object]) -> None:
        """Ask whether to quit all the same, unless another question on the screen is to be answered first."""
        from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal, ask_first

        if not isinstance(self.screen, ConfirmModal):
            title = "Quit without saving it?"
            ask_first(self, ConfirmModal(title, loss, confirm="Quit", cancel="Keep writing"), leave)

    async def action_go_on(self, step: int) -> None:
        """Focus the next field or the one before; a page may choose which."""
        focused = self.screen.focused
        pages = [node for node in focused.ancestors if isinstance(node, SessionTab)] if focused else []
        for page in pages:
            if focused is not None and await page.step_focus(focused, step):
                return
        if step > 0:
            self.screen.focus_next()
        else:
            self.screen.focus_previous()

    def do(self, work: Coroutine[object, object, object], *, group: str = "workspace") -> None:
        """Run `work` in the background; errors that the GM can fix are shown on the page."""
        run_in_background(self, work, group=group, failed=self.chapter.feedback.show_trouble)

    def on_chapter_build_download_wanted(self, event: "ChapterBuild.DownloadWanted") -> None:
        """Write a draft of the chapter. Bound by its name: `@on` would import the page too early."""
        self.do(self._deliver(event), group="download")

    async def _deliver(self, wanted: "ChapterBuild.DownloadWanted") -> None:
        from storyengine_tui.screens.narrative.download_row import deliver_chapter

        folder = self.configuration.paths.downloads
        path = await deliver_chapter(self, wanted.draft.text, wanted.title, folder)
        wanted.build.show_delivered(wanted.draft, path)

    def on_secrets_cell_wanted(self, event: "SecretsCell.Wanted") -> None:
        """Show a secret, or begin one. Bound by its name, as above."""
        from storyengine_tui.screens.setup.secrets.secret_screen import SecretScreen
        from storyengine_tui.screens.setup.secrets.secrets_view import find, why_no_more

        session = self.session
        if session is None or self.screen is not self.chapter:
            return
        why = "" if find(session.snapshot, event.number) is not None else why_no_more(session.snapshot)
        if why:
            self.notify(why, severity="warning", markup=False)
        else:
            self.push_screen(SecretScreen(self.workspace, session, event.number))

    def on_take_actions_branch_wanted(self, event: "TakeActions.BranchWanted") -> None:
        """Branch the open chapter. Bound by its name, as above."""
        self.do(self._branch(event.at))

    async def _branch(self, at: int) -> None:
        await self.workspace.branch(at)
        self.notify(
            f"This is the branch at prompt {at:,}. The other chapter is in the list (F5).", markup=False
        )

    def on_scene_actions_next_input_wanted(self, event: "SceneActions.NextInputWanted") -> None:
        """Show what a character is given next. Bound by its name, as above."""
        from storyengine_tui.screens.calls.inputs.next_input_screen import NextInputScreen

        engine, session = self.engine, self.session
        if engine is None or session is None or session.id != event.session_id or not self._is_on_chapter:
            return
        choice = engine.choice_of(session.snapshot.tab1.profiles, event.slot)
        make = partial(engine.preview, session.id, event.slot, event.text.strip())
        screen = NextInputScreen(session.snapshot.session.name_of(event.slot), make, choice)
        self.push_screen(screen)

    def pass_gate(self, begin: Callable[[], object]) -> None:
        """Call `begin` after the first paint, and after the password where one is set."""
        gate = self.configuration.gate
        if gate is None:
            self.call_after_refresh(begin)
            return
        from storyengine_tui.screens.system.password_screen import PasswordScreen

        def passed(_: None) -> None:
            begin()

        # What is typed already is of the password, and no text of the story.
        self.push_screen(PasswordScreen(gate, self.chapter.early.release()), passed)

    def action_welcome(self) -> None:
        """Show a new user how to begin."""
        from storyengine_tui.screens.system.welcome_modal import WelcomeModal

        self.push_screen(WelcomeModal(self.configuration), self._begin)

    def _begin(self, choice: "Choice | None") -> None:
        from storyengine_tui.screens.system.example_chapters import ExampleChapter
        from storyengine_tui.screens.system.welcome_modal import ConnectModel, StartEmpty, UseModel

        match choice:
            case ExampleChapter():
                self.do(self.workspace.open_example(choice))
            case StartEmpty():
                self.action_new_chapter()
            case ConnectModel(found):
                self.action_model(found)
            case UseModel(configuration):
                self._welcomes_again = True
                self.post_message(self.Reconfigured(configuration))

    def action_new_chapter(self) -> None:
        """Start with an empty world."""
        self.do(self.workspace.open_new())

    def action_chapters(self) -> None:
        """List the chapters: those of the book where the open one is in a book."""
        from storyengine_tui.screens.library.chapters.chapters_screen import ChaptersScreen

        self.push_screen(ChaptersScreen(self.workspace, has_open_one=True))

    def action_library(self, shelf: str) -> None:
        """Show a list of the library: books, cast or lore."""
        from storyengine_tui.screens.library.shelf.shelf_screen import screen_of

        self.push_screen(screen_of(shelf, self.workspace))

    def action_next_chapter(self) -> None:
        """Begin the chapter after the open one, and open it."""
        from storyengine_tui.screens.chapter.next_chapter import begin_next

        if self.session is not None:
            self.do(begin_next(self, self.workspace, self.session.id))

    def action_proposals(self) -> None:
        """Show what is proposed for the characters of the library."""
        from storyengine_tui.screens.library.proposals.proposals_screen import ProposalsScreen

        if self.engine is not None:
            self.push_screen(ProposalsScreen(self.engine.library.proposals))

    def action_look_back(self, with_ceremony: bool) -> None:
        """Ask what the chapter that has ended means for its characters."""
        from storyengine_tui.screens.library.proposals.proposing import propose_changes

        engine, session = self.engine, self.session
        if engine is not None and session is not None:
            parts = (engine.library.proposals, session, lambda: self.session is session)
            self.do(propose_changes(self, *parts, with_ceremony=with_ceremony), group="look back")

    def action_model(self, found: "FoundModel | None" = None) -> None:
        """Show who answers, and how to connect another model, such as one that was found here."""
        from storyengine_tui.screens.models.model_screen import ModelScreen

        names = self.session.snapshot.session.names if self.session is not None else {}
        self.push_screen(ModelScreen(self.configuration, names, self.session, found), self._go_on_with)

    def _go_on_with(self, configuration: Configuration | None) -> None:
        if configuration is not None:
            self.post_message(self.Reconfigured(configuration))

    def action_archive(self) -> None:
        """Archive the open chapter and open another."""
        if self.session is not None:
            self.do(self.workspace.archive(self.session.id))

    def action_provenance(self) -> None:
        """Show what waits, every call of the session, and what the calls cost."""
        from storyengine_tui.screens.calls.calls_screen import CallsScreen

        engine, session = self.engine, self.session
        if engine is not None and session is not None:
            folder = self.workspace.paths.data
            self.push_screen(CallsScreen(engine, session, folder, self._take_back))

    def _take_back(self, request_id: "RequestId | None") -> None:
        """Return a waiting prompt of the open chapter to its panel; None: all of them, and go there."""
        if request_id is None:
            self.chapter.do_there("play", "take_back_all")
            return
        from storyengine_tui.screens.play.composer.prompt_queue import PromptQueue
        from storyengine_tui.screens.play.play_pane import PlayPane

        self.chapter.query_one(PlayPane).post_message(PromptQueue.TakeBackRequested(request_id))

    @property
    def helped_area(self) -> "CappedTextArea | None":
        """The text in focus on the page, if a model can help with it."""
        if self.session is None:
            return None
        from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea  # After the first paint.

        focused = self.chapter.focused
        if not isinstance(focused, CappedTextArea) or focused.helped is None or focused.read_only:
            return None
        return focused

    def action_assist(self) -> None:
        """Let a model propose how the text in focus goes on, or how it could be better."""
        from storyengine_tui.screens.setup.assist.assist_screen import AssistScreen

        area, session = self.helped_area, self.session
        if area is not None and session is not None and self._is_on_chapter:
            screen = AssistScreen(self.chapter.configuration, session, area)
            self.push_screen(screen, screen.put_into)

    @property
    def shown_character(self) -> "CharacterPanel | None":
        """The panel of a character that shows on tab 1."""
        if self.session is None or self.chapter.active_tab != "setup":
            return None
        from storyengine_tui.screens.setup.cast_panels import CastPanels

        return next((panels.shown for panels in self.chapter.query(CastPanels)), None)

    def action_take_character(self) -> None:
        """Take a character of the library into the panel that shows."""
        from storyengine_tui.screens.setup.casting.casting import take_character

        panel = self.shown_character
        if panel is not None and self.engine is not None:
            self.do(take_character(self, self.engine.library, panel))

    def action_keep_character(self) -> None:
        """Keep the character in the panel that shows in the library, or see how it differs."""
        from storyengine_tui.screens.setup.casting.casting import keep_character

        panel = self.shown_character
        if panel is not None and self.engine is not None:
            self.do(keep_character(self, self.engine.library.characters, panel))

    def action_prompt_blocks(self) -> None:
        """Edit the prompt blocks of the chapter and its variants."""
        from storyengine_tui.screens.library.prompt_blocks.blocks_screen import PromptBlocksScreen

        if self.session is not None:
            self.push_screen(PromptBlocksScreen(self.workspace, self.session))

    def action_chapter_lore(self) -> None:
        """Attach lorebooks of the library to the chapter, or detach them."""
        from storyengine_tui.screens.library.lore.chapter_lore_screen import ChapterLoreScreen

        if self.session is not None and self.engine is not None:
            self.push_screen(ChapterLoreScreen(self.engine.library.lore, self.session))

    def action_help(self) -> None:
        """Show the keys of the focused widget."""
        from storyengine_tui.screens.system.help_screen import HelpScreen

        if isinstance(self.screen, HelpScreen):
            self.screen.action_close()
        else:
            self.push_screen(HelpScreen.of(self.screen))

    def action_explain(self) -> None:
        """Show the keys, for a question mark that is not typed into a text."""
        self.action_help()

    def show_bug(self, error: Exception) -> None:
        """Report a bug of the program, with a text to copy."""
        from storyengine_tui.screens.system.bug_screen import BugScreen

        if not isinstance(self.screen, BugScreen):
            self.push_screen(BugScreen(error, self.workspace.paths.logs))
