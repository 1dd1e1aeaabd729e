"""Counts the used characters of a limit, such as `1,234/5,000`."""

from textual.content import Content
from textual.widgets import Static

from core.domain.story.transcript import counter_text


class CharCounter(Static):
    """A counter of fixed width, so that a change never lays out the screen again.

    It has the class `-full` while the limit is reached.
    """

    ALLOW_SELECT = False
    DEFAULT_CSS = "CharCounter { height: 1; text-align: right; }"

    def __init__(self, limit: int, *, length: int = 0, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown = (0, 0)
        self.show(length, limit)

    def show(self, length: int, limit: int | None = None) -> None:
        """Show `length` characters of `limit`, which stays as it was when it is not given."""
        shown_limit = self._shown[1]
        limit = shown_limit if limit is None else limit
        if (length, limit) == self._shown:
            return
        self._shown = (length, limit)
        self.update(Content(counter_text(length, limit)), layout=False)
        if limit != shown_limit:
            self.styles.width = len(counter_text(limit, limit))
        self.set_class(length >= limit, "-full")
