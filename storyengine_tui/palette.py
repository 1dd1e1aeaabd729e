"""What the command palette offers: every command by its name, when it is possible."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.app import SystemCommand

if TYPE_CHECKING:
    from storyengine_tui.app import StoryEngineApp


def commands_of(app: "StoryEngineApp") -> Iterator[SystemCommand]:
    """Yield the commands that are possible now."""
    if app.engine is not None:
        yield SystemCommand(
            "Chapters", "Open, start, rename, archive or restore a chapter", app.action_chapters
        )
        yield SystemCommand("New chapter", "Start with an empty world", app.action_new_chapter)
        yield SystemCommand(
            "Example", "Open an example chapter, or start with an empty one", app.action_welcome
        )
        yield SystemCommand("Model", "Who answers, and how to connect another model", app.action_model)
    if app.session is not None:
        for tab, name, text in (
            ("setup", "World", "Tab 1: world, chapter and cast"),
            ("play", "Play", "Tab 2: prompt the characters"),
            ("narrative", "Chapter", "Tab 3: memory, and the written chapter"),
        ):
            yield SystemCommand(name, text, lambda tab=tab: app.chapter.action_tab(tab))
        yield SystemCommand(
            "Calls", "Everything that was sent to a model, and what came back", app.action_provenance
        )
    yield SystemCommand("Help", "The keys that work here", app.action_help)
    yield SystemCommand("Quit", "Everything is stored", app.action_leave)
