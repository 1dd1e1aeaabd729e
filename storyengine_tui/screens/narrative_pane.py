"""Tab 3: structured memory, the narrative's definition, and the chapter (design 10)."""

from storyengine_tui.screens.engine_pane import EnginePane


class NarrativePane(EnginePane):
    """The page on which the chapter is written and downloaded."""
