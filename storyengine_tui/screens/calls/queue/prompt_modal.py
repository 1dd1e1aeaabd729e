"""The dialog in which a prompt is edited that waits in the queue."""

from typing import ClassVar

from storyengine_tui.widgets.dialogs.stored_text_modal import StoredTextModal


class PromptModal(StoredTextModal):
    """Edits the text of a waiting prompt; one that has begun meanwhile is refused with the reason."""

    heading = "Edit the prompt that waits"
    EFFECT: ClassVar[str] = "The prompt keeps its place in the queue."
    LOSS: ClassVar[tuple[str, str]] = ("Leave the prompt as it was?", "Your changes will be lost.")
