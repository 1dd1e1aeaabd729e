"""A text area that keeps its wrapped lines while its width stays the same (`Part.TEXT_WRAP`)."""

from textual.widgets import TextArea

from storyengine_tui.textual_ext.parts import Part, is_enabled, tested_or


class RepaintedTextArea(TextArea):
    """A text area that is repainted after a resize; for versions of Textual that were not tested."""

    def on_resize(self) -> None:
        """Repaint: Textual wraps the text after the layout has painted it."""
        self.refresh()


@tested_or(RepaintedTextArea)
class KeptWrapTextArea(TextArea):
    """Wraps its text only where the width or the tab width changed; edits keep the wrapping up to date."""

    def _rewrap_and_refresh_virtual_size(self) -> None:
        """Wrap the text if its width changed, and repaint.

        Textual wraps all of it for every Resize, so for every visit to a page, and does not repaint: under
        load one start in twenty showed what was painted between the layout and the wrapping.
        """
        wrapped = self.wrapped_document
        is_wrapped = (wrapped._width, wrapped._tab_width) == (self.wrap_width, self.indent_width)
        if is_wrapped and is_enabled(Part.TEXT_WRAP):
            self._refresh_size()
            return
        super()._rewrap_and_refresh_virtual_size()
        self.refresh()
