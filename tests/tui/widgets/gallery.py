"""All reusable widgets on one page, as a chapter uses them: for snapshots, and to look at."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from core.domain.session.limits import Limits
from core.domain.slot import Slot
from storyengine_tui.screens.play.composer.prompt_area import PromptArea
from storyengine_tui.shell.themed_app import ThemedApp
from storyengine_tui.textual_ext.painting.diff_display import DiffDisplayApp
from storyengine_tui.widgets.banner import Banner, BannerAction, BannerText, Tone
from storyengine_tui.widgets.busy_line import BusyLine
from storyengine_tui.widgets.fields.capped_text_area import CharCounter
from storyengine_tui.widgets.key_line import KeyLine
from storyengine_tui.widgets.panel_switcher import PanelEntry, PanelSwitcher
from storyengine_tui.widgets.reading.transcript_view import TranscriptView
from tests.tui.chapters import chapter
from tests.tui.rooms.widget_app import WIDGET_STYLES


class GalleryApp(DiffDisplayApp, ThemedApp):
    """Plays a page of a chapter that stands still."""

    CSS_PATH: ClassVar = WIDGET_STYLES
    CSS = """
    .page { background: $page-play; padding: 0 1; }
    TranscriptView { height: 1fr; }
    #status { height: 1; background: $cell; }
    #status BusyLine { width: 1fr; }
    #more { width: auto; margin-right: 2; color: $tone-info; }
    PromptArea { height: 5; }
    """

    def compose(self) -> ComposeResult:
        yield TranscriptView()
        with Horizontal(id="status"):
            yield BusyLine(clock=lambda: 7.0)
            yield Static("↓ more below (End)", id="more")
            yield CharCounter(60_000)
        yield Banner(clock=lambda: 0.0)
        yield PromptArea(Slot.BLUE, Limits(), "Agent Blue", "The door is open. [/x]", send=lambda *sent: None)
        yield PanelSwitcher(
            [PanelEntry(slot.colour, slot, slot.default_name, f"$slot-{slot.colour}") for slot in Slot],
            active="blue",
        )
        yield KeyLine()

    def on_mount(self) -> None:
        self.screen.add_class("page")
        self.query_one("#more").display = False
        view = self.query_one(TranscriptView)
        view.show_window(chapter.window(9, boundary=7))
        view.begin_reply(Slot.BLUE, "Agent Blue", "10) And then?")
        view.stream("I wait. The tide turns, and the bell rings twice for those who are late.")
        self.query_one(BusyLine).begin("Agent Blue is writing", style="$slot-blue")
        self.query_one(CharCounter).show(12_345)
        self.query_one(Banner).content = BannerText(
            "The summary could not be made: the model took too long.",
            "Nothing is lost, and you can go on.",
            (BannerAction("retry", "Retry", "F8"), BannerAction("dismiss", "Dismiss")),
            Tone.WARNING,
            retry_at=90,
        )
        self.query_one(PromptArea).focus()

    def on_line_view_more_below_changed(self, message: TranscriptView.MoreBelowChanged) -> None:
        self.query_one("#more").display = message.has_more_below


if __name__ == "__main__":
    GalleryApp().run()
