"""Tab 2: the transcript, and the composer that prompts the characters (design 9 and 10)."""

from storyengine_tui.screens.engine_pane import EnginePane


class PlayPane(EnginePane):
    """The page on which the chapter is played."""
