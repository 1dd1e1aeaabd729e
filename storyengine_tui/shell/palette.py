"""The palette: every command that is possible, found by its name or by words of its description."""

from collections.abc import Collection, Sequence
from typing import Any

from textual.app import App
from textual.command import Hit as Offer
from textual.command import Hits as Offers
from textual.screen import Screen
from textual.system_commands import SystemCommandsProvider

from storyengine_tui.shell.overlay_app import OverlayApp
from storyengine_tui.shell.palette_commands import TAB_ACTIONS
from storyengine_tui.textual_ext.parts import Part, is_enabled
from storyengine_tui.textual_ext.repairs.command_palette import GuardedCommandPalette
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen


class PossibleCommands(SystemCommandsProvider):
    """Finds commands by words of their names, and below them by words of their descriptions.

    Letters that lie apart in a name find nothing: Enter without a look would begin something else, such as a
    call that is paid. For the same reason commands of the tab that shows come first: “undo” on tab 2 is of a
    prompt, and on tab 3 of the memory bank.
    """

    async def search(self, query: str) -> Offers:
        """Yield the commands that have what is typed in their name, then those with words that begin so."""
        from core.engine.recall.words import matcher_of

        names, has_words = self.matcher(query), matcher_of(query)
        elsewhere = _names_of_other_tabs(self.app)
        for name, text, run, *_ in sorted(
            self.app.get_system_commands(self.screen), key=lambda one: (one.title in elsewhere, one.title)
        ):
            is_named = query.casefold() in name.casefold() or (has_words is not None and has_words(name))
            if is_named and (score := names.match(name)) > 0:
                yield Offer(score, names.highlight(name), run, help=text)
            elif has_words is not None and has_words(f"{name} {text}"):
                yield Offer(0, name, run, help=text)


def _names_of_other_tabs(app: App[Any]) -> Collection[str]:
    """Return the names of the commands that lead to another tab."""
    shown = app.chapter.active_tab if isinstance(app, OverlayApp) else ""
    return {name for tab, _, name, _ in TAB_ACTIONS if tab != shown}


class StoryPalette(GuardedCommandPalette, OverlayScreen[None]):
    """Textual's command palette, as a screen over the chapter."""

    def __init__(self, chapter: Screen[Any]) -> None:
        """Offer the commands that are possible now; `chapter` tells when others are."""
        super().__init__([PossibleCommands])
        self._chapter = chapter
        self._offered: Sequence[tuple[str, str]] = ()

    def on_mount(self) -> None:
        """Offer others when others become possible, such as once the database is up."""
        if is_enabled(Part.COMMAND_PALETTE):
            self._offered = self._possible
            self._chapter.bindings_updated_signal.subscribe(self, self._offer_others)

    @property
    def _possible(self) -> Sequence[tuple[str, str]]:
        return [(name, text) for name, text, *_ in self.app.get_system_commands(self)]

    def _offer_others(self, _: Screen[Any]) -> None:
        if (possible := self._possible) != self._offered:
            self._offered = possible
            self.search_again()
