"""How much of a limit is used, such as `1,234/5,000`."""

from textual.content import Content
from textual.widgets import Static

from core.domain.transcript import counter_text


class CharCounter(Static):
    """A counter of fixed width, so that a change never lays out the screen again.

    It has the class `-full` while the limit is reached.
    """

    ALLOW_SELECT = False
    DEFAULT_CSS = "CharCounter { height: 1; text-align: right; }"

    def __init__(
        self, limit: int, *, length: int = 0, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(Content(counter_text(length, limit)), id=id, classes=classes)
        self._shown = (length, limit)
        self.set_class(length >= limit, "-full")
        self._fit()

    @property
    def length(self) -> int:
        """The number that is shown."""
        return self._shown[0]

    def show(self, length: int, limit: int | None = None) -> None:
        """Show `length` characters of `limit`, which stays as it was when it is not given."""
        shown = (length, self._shown[1] if limit is None else limit)
        if shown == self._shown:
            return
        has_new_limit = shown[1] != self._shown[1]
        self._shown = shown
        self.update(Content(counter_text(*shown)), layout=False)
        if has_new_limit:
            self._fit()
        self.set_class(length >= shown[1], "-full")

    def _fit(self) -> None:
        limit = self._shown[1]
        self.styles.width = len(counter_text(limit, limit))
