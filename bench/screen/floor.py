"""The floor: a Textual application with one text area and nothing else. `python -m bench.screen.floor`."""

from textual.app import App, ComposeResult
from textual.widgets import TextArea


class FloorApp(App[None]):
    """What Textual itself costs; nothing that has a field to type in can be quicker."""

    def compose(self) -> ComposeResult:
        """Compose the text area."""
        yield TextArea()


if __name__ == "__main__":
    FloorApp().run()
