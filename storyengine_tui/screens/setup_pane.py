"""Tab 1: world, chapter and cast (design 10)."""

from storyengine_tui.screens.engine_pane import EnginePane


class SetupPane(EnginePane):
    """The page on which a chapter is set up."""
