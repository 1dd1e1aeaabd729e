"""Gives an app the program's theme before anything is styled."""

from textual.app import App

from storyengine_tui.textual_ext.parts import Part, is_enabled
from storyengine_tui.theme import STORY_THEME, theme_variables


class ThemedApp(App[None]):
    """An app in the program's colours, without animations.

    A base, which the tests of single widgets and pages share: Textual asks the class of the app for its
    variables, and restyles and clears what is selected by methods of it.
    """

    def __init__(self) -> None:
        super().__init__()
        if is_enabled(Part.STYLE_CACHE):
            # Imported here: another version may lack the private parts that it uses.
            from storyengine_tui.textual_ext.painting import style_cache

            self.stylesheet = style_cache.CachingStylesheet()
        # The line that slides below the tabs would be painted for half a second.
        self.animation_level = "none"
        # Before anything is styled: a later theme parses every style sheet twice more.
        self.register_theme(STORY_THEME)
        self.theme = STORY_THEME.name
        self._styled_with = self.get_css_variables()
        self.stylesheet.set_variables(self._styled_with)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return our variables for every theme, in colours that the terminal supports."""
        return theme_variables(self.console.color_system, has_colour=not self.no_color)

    def refresh_css(self, animate: bool = True) -> None:
        """Restyle everything if colours changed; Textual calls this at the start as well."""
        variables = self.get_css_variables()
        if variables != self._styled_with:
            self._styled_with = variables
            super().refresh_css(animate)

    def clear_selection(self) -> None:
        """Keep what is selected where a field is filled that the GM does not write in.

        Textual's fields call this at each change of their cursors, also on a page that does not show.
        """
        focused = self.focused if self.screen_stack else None
        if focused is not None and focused.check_consume_key("a", "a"):
            super().clear_selection()
