"""A banner in the flow of the page: what happened, that all is safe, and what can be done (design 10)."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.css.query import NoMatches
from textual.reactive import reactive
from textual.timer import Timer
from textual.widgets import Button, Static

from core.text.cleaning import clean
from storyengine_tui.widgets.elapsed import elapsed_text
from storyengine_tui.widgets.key_names import with_key
from storyengine_tui.widgets.widget_message import WidgetMessage


class Tone(StrEnum):
    """Severity; a word in front says so as well, because no meaning rests on colour alone."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


_WORDS = {Tone.ERROR: "Error: ", Tone.WARNING: "Note: ", Tone.INFO: ""}


class BannerAction(NamedTuple):
    """A button of a banner. `key` does the same; the screen binds it."""

    name: str
    label: str
    key: str = ""

    @property
    def text(self) -> str:
        """The text on the button."""
        return with_key(self.label, self.key)


DISMISS: Final = BannerAction("dismiss", "Dismiss")
"""Hides a banner that needs nothing else; screens over another one have nothing to add to it."""


class BannerText(NamedTuple):
    """Content of a banner. `retry_at` is on the banner's clock; the count-down to it is shown."""

    sentence: str
    hint: str = ""
    actions: tuple[BannerAction, ...] = ()
    tone: Tone = Tone.ERROR
    retry_at: float | None = None


class Banner(Vertical):
    """Takes no room while it has nothing to say."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Banner {
        height: auto; display: none;
        &.-shown { display: block; }
        .banner--sentence, .banner--hint { width: 1fr; height: auto; }
        .banner--actions { height: 1; }
        .banner--countdown { width: 1fr; height: 1; }
        Button { width: auto; }
    }
    """

    content: reactive[BannerText | None] = reactive(None, recompose=True)
    """Its content; set through `show` and `hide`."""

    @dataclass
    class ActionChosen(WidgetMessage["Banner"]):
        """The user pressed the button of this action."""

        action: str

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        scrolls_into_view: bool = False,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._clock = clock
        self._scrolls_into_view = scrolls_into_view
        self._timer: Timer | None = None

    @property
    def is_shown(self) -> bool:
        """Whether it says something."""
        return self.content is not None

    def show(
        self,
        sentence: str,
        *,
        hint: str = "",
        actions: Sequence[BannerAction] = (),
        tone: Tone = Tone.ERROR,
    ) -> None:
        """Show this."""
        self.content = BannerText(clean(sentence), clean(hint), tuple(actions), tone)

    def on_resize(self) -> None:
        """Scroll into view if it is to: its position on the page is known only now."""
        if self._scrolls_into_view and self.is_shown:
            self.scroll_visible(animate=False)

    def hide(self) -> None:
        """Show nothing, and take no room."""
        self.content = None

    def compose(self) -> ComposeResult:
        """Compose sentence, hint, and a row of buttons and count-down."""
        if self.content is None:
            return
        text = self.content
        yield _PlainText(Content(_WORDS[text.tone] + text.sentence), classes="banner--sentence")
        if text.hint:
            yield _PlainText(Content(text.hint), classes="banner--hint")
        if text.actions or text.retry_at is not None:
            with Horizontal(classes="banner--actions"):
                for action in text.actions:
                    yield Button(Content(action.text), name=action.name, compact=True)
                yield _PlainText(self._countdown_text(), classes="banner--countdown")

    def watch_content(self, content: BannerText | None) -> None:
        """Appear or disappear, and tick while there is a count-down."""
        self.set_class(content is not None, "-shown")
        for tone in Tone:
            self.set_class(content is not None and content.tone is tone, f"-{tone}")
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if content is not None and content.retry_at is not None:
            self._timer = self.set_interval(1, self._tick)

    def _tick(self) -> None:
        try:
            line = self.query_one(".banner--countdown", _PlainText)
        except NoMatches:
            return  # It is being recomposed.
        line.update(self._countdown_text(), layout=False)

    def _countdown_text(self) -> Content:
        if self.content is None or self.content.retry_at is None:
            return Content("")
        left = self.content.retry_at - self._clock()
        return Content(f"Tries again by itself in {elapsed_text(left)}" if left > 0 else "Trying again now…")

    @on(Button.Pressed)
    def _tell(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.name:
            self.post_message(self.ActionChosen(self, event.button.name))


class _PlainText(Static):
    ALLOW_SELECT = False
