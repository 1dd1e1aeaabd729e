"""The part of tab 3 about viewpoints: memory, and the chapter, as one character knows it (design 13)."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static

from core.domain.requests.request import NarrativeRequest, Request
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session import Session
from core.domain.slot import Slot
from storyengine_tui.screens.narrative.draft_cell import DraftCell
from storyengine_tui.screens.narrative.memory.memory_loader import MemoryLoader
from storyengine_tui.screens.narrative.narrative_view import NarrativeView, uses_audiences
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.textual_ext.repairs.option_lists import GuardedOptionList
from storyengine_tui.widgets.dialogs.overlay_screen import BoxModal

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle

EFFECT = (
    "The writer is given what this character has witnessed and knows, and nothing else. Enter builds a new "
    "draft; those that exist stay."
)


class ViewpointModal(BoxModal[Slot]):
    """Ends with a character; Esc ends with none."""

    AUTO_FOCUS = "OptionList"
    HELP = f"The chapter from one character's viewpoint. {EFFECT}"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Cancel")]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._roster = session.roster

    def compose(self) -> ComposeResult:
        """Compose what it does, and the characters."""
        rows = [Content(f"{slot.value} {name}") for slot, name in self._roster]
        with Vertical(classes="dialog--box"):
            yield Static("From whose viewpoint is the chapter written?", classes="dialog--title")
            yield Static(EFFECT, classes="dialog--text")
            yield GuardedOptionList(*rows, id="viewpoints", markup=False, compact=True)
            yield Static("↑ ↓ and Enter choose · Esc changes nothing", classes="dialog--muted")

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._roster[event.option_index][0])


@dataclass(eq=False)
class Viewpoints:
    """Asks as which character the chapter is written, and says so of its drafts.

    `build` builds a draft from a character's viewpoint.
    """

    _page: SessionTab
    _memory: MemoryLoader
    _build: Callable[["SessionHandle", Slot], Awaitable[None]]

    def is_offered(self, action: str, view: NarrativeView) -> bool:
        """Whether `view_as`, `view_all` or `build_as` is possible."""
        has_several = len(view.session.slots) > 1
        match action:
            case "view_all":
                return self._memory.viewpoint is not None
            case "view_as":
                return has_several and self._memory.has_blocks
            case _:
                return has_several and view.can_build

    @property
    def roster(self) -> tuple[tuple[Slot, str], ...]:
        """The cast, in a chapter in which not everyone knows everything; else nothing."""
        snapshot = self._page.session.snapshot
        is_used = self._memory.has_private or uses_audiences(snapshot)
        return snapshot.session.roster if is_used else ()

    def ask(self) -> None:
        """Ask as which character the chapter is written, and build that draft."""
        session = self._page.session
        dialog = ViewpointModal(session.snapshot.session)
        self._page.ask_for(dialog, partial(self._build, session), group="build")

    def show_stored(self, running: NarrativeRequest | None, *, has_drafts: bool) -> None:
        """Show the viewpoint of each draft of another session."""
        session = self._page.session
        self.name([running] if running is not None else [])
        if has_drafts:
            self._page.run_worker(self._read(session), group="viewpoints", exit_on_error=False)

    async def _read(self, session: "SessionHandle") -> None:
        requests = await self._page.perform(session.reads.requests(RequestKind.NARRATIVE))
        if requests is not None and self._page.shows(session):
            self.name(requests)

    def name(self, requests: Iterable[Request]) -> None:
        """Show the viewpoint of the drafts of these requests, where it is not the GM's."""
        name_of = self._page.session.snapshot.session.name_of
        asked = [one for one in requests if isinstance(one, NarrativeRequest)]
        names = {one.id: name_of(one.viewpoint) for one in asked if one.viewpoint is not None}
        self._page.query_one(DraftCell).name_viewpoints(names)
