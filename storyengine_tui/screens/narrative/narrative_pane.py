"""Tab 3: structured memory, the narrative's definition, and the chapter (design 10)."""

from typing import TYPE_CHECKING, ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.reactive import var
from textual.widgets import Button, Static

from core.domain.requests.request import NarrativeRequest
from core.domain.session.limits import Limits
from core.domain.session.session_state import SessionState
from core.engine.sync import notifications
from core.text.numbers import counted
from storyengine_tui.screens.bank.item_list import ItemList
from storyengine_tui.screens.narrative.chapter_build import ChapterBuild
from storyengine_tui.screens.narrative.definition_cell import DefinitionCell, DefinitionSaver
from storyengine_tui.screens.narrative.download_row import CopyRequested, DeliveryRow
from storyengine_tui.screens.narrative.draft_cell import DraftCell
from storyengine_tui.screens.narrative.memory.bank_part import BankEvent, BankPart
from storyengine_tui.screens.narrative.memory.memory_cell import MemoryCell
from storyengine_tui.screens.narrative.memory.memory_loader import MemoryLoader
from storyengine_tui.screens.narrative.memory.search_targets import SearchTargets
from storyengine_tui.screens.narrative.narrative_view import NarrativeView, narrative_view
from storyengine_tui.screens.narrative.revisions.memory_revisions import MemoryRevisions, RevisionAct
from storyengine_tui.screens.narrative.viewpoints import Viewpoints
from storyengine_tui.screens.shared.background import run_in_background
from storyengine_tui.screens.shared.kept_fields import Fields
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.busy_line import BusyLine
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle

_LIMITS = Limits()


class NarrativePane(SessionTab):
    """The page on which the chapter is written and downloaded."""

    HELP = (
        "Tab 3: memory, your wishes for the writer, and the written chapter. Build Narrative is "
        "possible once the chapter has ended on 2 Play."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f8", "build", "Build"),
        Binding("f9", "download", "Download"),
        Binding("escape", "cancel", "Cancel"),
        Binding("f12", "view_as", "Memory as the next character sees it", show=False),
        Binding("escape", "view_all", "All of memory", show=False),
        Binding("ctrl+r", "retry", "Retry"),
    ]

    # At first: a class that comes later styles all of the page again.
    DEFAULT_CLASSES = "-unwritten"

    view: var[NarrativeView | None] = var(None, init=False)
    can_download: var[bool] = var(False, init=False, bindings=True)
    """Whether the text that shows is a draft, which can be downloaded."""

    _lacks_drafts = False
    """Whether the drafts of the chapter could not be read."""

    _memory = getters.query_one(MemoryCell)
    _definition = getters.query_one(DefinitionCell)
    _draft = getters.query_one(DraftCell)

    def __init__(self) -> None:
        super().__init__()
        self._saver = DefinitionSaver(self)
        self.autosave = self._saver.autosave
        self.memory = MemoryLoader(self, self._go_on)
        self._revisions = MemoryRevisions(self)
        self._bank = BankPart(self, self.memory)
        self.build = ChapterBuild(self)
        self._viewpoints = Viewpoints(self, self.memory, self.build.build)
        self.adopt(self._bank, self.build, SearchTargets(self, self.memory, self._bank))

    def compose(self) -> ComposeResult:
        """Compose the three cells, and above the chapter what is going on with it."""
        yield MemoryCell(lambda: self.session.snapshot.session, chunk_size=_LIMITS.chunk_size, id="memory")
        yield DefinitionCell(_LIMITS, id="definition-cell")
        yield Banner(scrolls_into_view=True, id="build-banner")
        yield BusyLine(id="building")
        yield Static("", id="left-out", markup=False)
        yield DraftCell(id="draft")
        yield DeliveryRow(id="delivery")

    # Showing the session

    async def on_session_attached(self) -> None:
        """Show what is stored; memory is read when the tab is shown."""
        self.memory.forget()
        self._bank.forget()
        self.build.forget()
        view = narrative_view(self.session)
        self._saver.show_stored(view.session)
        await self._show_drafts(self.session)
        self.view = None
        self.refresh_view()
        if self.is_in_view:
            self.memory.read()

    def _read_drafts(self) -> None:
        run_in_background(self, self._show_drafts(self.session), group="drafts", exclusive=True)

    async def _show_drafts(self, session: "SessionHandle") -> None:
        """Show the drafts; where they cannot be read, a banner says so, and the next visit tries again."""
        drafts, count = None, -1
        while count != session.snapshot.draft_count:
            # Again, if a draft was stored meanwhile: its notice may have been handled already.
            count = session.snapshot.draft_count
            drafts = await self.perform(session.reads.drafts())
        if self.shows(session):
            running, self._lacks_drafts = narrative_view(session).running, drafts is None
            self.build.show_drafts(drafts or (), running)
            self._viewpoints.show_stored(running, has_drafts=bool(drafts))

    async def prepare(self) -> None:
        """Read a short memory before the tab is visible."""
        await self.memory.prepare()

    def on_tab_shown(self) -> None:
        """Read the memory, if it was not read before, and focus the widget where the GM continues."""
        self.memory.read()
        self._bank.come()
        if self._lacks_drafts and self.has_session:
            self._read_drafts()
        self._go_on()

    def _go_on(self) -> None:
        """Focus the chapter, else the next step: its definition, or the memory until then."""
        if not self.has_session or self.has_focus_within:
            return
        session = self.session.snapshot.session
        if self._draft.has_text:
            self.page_focus.move_to(self._draft.view, scroll_visible=True)
        elif session.state is SessionState.ENDED or not session.tab1_locked:
            self.page_focus.move_to(self._definition.area, scroll_visible=True)
        elif self._memory.reader.view.display:
            self.page_focus.move_to(self._memory.reader.view, scroll_visible=True)

    def field_for_typing(self) -> CappedTextArea | None:
        """Return the definition, if it can be edited and no list of the bank has the focus."""
        area = self._definition.area
        return None if area.read_only or self._memory.has_focused_list else area

    def on_notification(self, notification: notifications.Notification) -> None:
        """Show what is new of memory, of its bank, and of the chapter."""
        self._bank.note(notification)
        self.build.note(notification)
        match notification:
            case notifications.MemoryAppended(block):
                self.memory.append(block)
            case notifications.CanonChanged():
                self.memory.reread()
                if len(self._draft.drafts) > self.session.snapshot.draft_count:  # a backup was restored
                    self._read_drafts()
            case notifications.RequestBegun(NarrativeRequest() as request):
                self._viewpoints.name([request])

    def refresh_view(self) -> None:
        """Show the session as it is now."""
        if self.has_session:
            self.view = narrative_view(self.session)
            self._show_draft()
            self._bank.refresh()

    def watch_view(self, before: NarrativeView | None, view: NarrativeView | None) -> None:
        """Enable what is possible now, and say what is going on and what failed."""
        if view is None:
            return
        if not view.is_writer:
            self._saver.follow(before, view)
        self._definition.show_access(
            is_editable=view.can_define,
            can_build=view.can_build,
            why="" if view.is_being_written else view.why_no_build,
        )
        self._memory.can_correct = view.can_correct
        self._memory.refused_acts = self._revisions.refused_acts
        self._memory.memory.show_marks(view.session.pinned, view.session.struck)
        self._memory.say_work(view.memory_work)
        self.build.show(before, view)
        if before is None or before.actions != view.actions:
            self.refresh_bindings()  # Only on a change: it recomposes the footer, which is expensive.

    @on(DraftCell.Chosen)
    def _show_draft(self) -> None:
        """Enlarge the chapter's cell once it has text, and allow downloading a draft."""
        has_chapter = self._draft.has_text or (self.view is not None and self.view.is_being_written)
        self.set_class(has_chapter, "-written")
        self.set_class(not has_chapter, "-unwritten")
        self.can_download = self._draft.shown is not None

    def watch_can_download(self, can_download: bool) -> None:
        """Enable or disable the download button."""
        self.query_one("#download", Button).disabled = not can_download

    # What is possible

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        if not self.has_session or self.view is None:
            return False
        if action in ("view_as", "view_all", "build_as"):
            return self._viewpoints.is_offered(action, self.view)
        if action in ("bank_list", "bank_act", "bank_alike"):
            return self._bank.is_offered(action)
        if action == "compare_drafts":
            return self._draft.can_compare
        if action == "revise":
            return self._revisions.is_offered(RevisionAct(str(parameters[0])))
        return (self.view.actions | {"download": self.can_download or None}).get(action, True)

    def why_not(self, action: str) -> str:
        """Return why the chapter cannot be built, or downloaded, now."""
        view = narrative_view(self.session)
        if action == "download" and (view.running is None or not view.is_writer):
            return "There is no chapter to download yet: build it first (F8)."
        if action == "download":
            return "This draft is still being written; it can be downloaded when it is done."
        return view.why_no_build

    # Storing what is typed

    @property
    def typed_fields(self) -> Fields:
        """The definition, if it is not stored."""
        return self._saver.typed_fields

    @property
    def has_unsaved(self) -> bool:
        """Whether the definition or the target can be stored and is not yet."""
        return self._saver.has_unsaved

    async def flush(self) -> None:
        """Store what is typed and not stored yet."""
        await self._saver.flush()

    async def focus_first_invalid(self) -> str:
        """Focus the target if it is invalid."""
        return self._saver.focus_invalid()

    @on(DefinitionCell.Edited)
    def _handle_edit(self) -> None:
        self._saver.touch()

    # Correcting canon

    @on(MemoryCell.CorrectionRequested)
    def action_correct(self) -> None:
        """Ask for a correction of canon, which the dialog stores."""
        self._revisions.correct(self.memory.room, self._viewpoints.roster)

    @on(MemoryCell.RevisionAsked)
    def _handle_revision(self, event: MemoryCell.RevisionAsked) -> None:
        self.action_revise(event.act)

    def action_revise(self, act: str) -> None:
        """Make memory again, edit or compare it, or pin or strike canon; `act` is a `RevisionAct`."""
        self._revisions.perform(RevisionAct(act))

    def action_view_as(self) -> None:
        """Show memory as the next character sees it; all of it follows the last one."""
        self.memory.view_as_next()
        self._bank.show_viewpoint()

    def action_view_all(self) -> None:
        """Show all of memory again."""
        self.memory.view_as(None)
        self._bank.show_viewpoint()

    @on(ItemList.Asked)
    @on(ItemList.Left)
    @on(MemoryCell.Widened)
    @on(MemoryCell.AlikeWanted)
    def _handle_items(self, event: BankEvent) -> None:
        self._bank.handle(event)

    def action_build_as(self) -> None:
        """Ask as which character the chapter is written, and build a new draft."""
        self._viewpoints.ask()

    # What the widgets of the chapter ask for

    @on(DraftCell.ComparisonWanted)
    def action_compare_drafts(self) -> None:
        """Compare the draft that shows with another one."""
        from storyengine_tui.screens.narrative.comparing.comparison_screen import ComparisonScreen

        if self._draft.can_compare:
            self.ask(ComparisonScreen(self._draft.compared))

    @on(Button.Pressed, "#build")
    def _handle_build(self) -> None:
        self.build.action_build()

    @on(Button.Pressed, "#download")
    def _handle_download(self) -> None:
        self.build.action_download()

    @on(BusyLine.CancelRequested, "#building")
    def _handle_cancel(self) -> None:
        self.build.action_cancel()

    @on(Banner.ActionChosen, "#build-banner")
    def _handle_choice(self, event: Banner.ActionChosen) -> None:
        event.stop()
        event.sender.hide()
        if event.action == "retry":
            self.build.action_retry()

    @on(CopyRequested)
    def _copy(self, event: CopyRequested) -> None:
        self.app.copy_to_clipboard(event.text)
        self.build.say(f"{event.what} copied, {counted(len(event.text), 'character')}.")
