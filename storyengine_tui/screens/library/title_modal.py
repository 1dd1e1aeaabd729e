"""Dialogs that ask for one line: a chapter's title, or the name of a save slot."""

from typing import ClassVar

from core.domain.save_point import LONGEST_LABEL
from storyengine_tui.widgets.dialogs.line_modal import LineModal

LONGEST_TITLE = 120


class TitleModal(LineModal):
    """Ends with the title; a blank one is taken from the chapter text. Esc keeps the old one."""

    HEADING: ClassVar = "Title of the chapter"
    PLACEHOLDER: ClassVar = "Taken from the chapter text"
    NOTE: ClassVar = "Left blank, it is taken from the chapter text."
    LIMIT: ClassVar = LONGEST_TITLE


class SlotNameModal(LineModal):
    """Ends with the name under which a chapter is saved as it is now."""

    HEADING = "Save the chapter as it is now"
    PLACEHOLDER = "A name for it"
    NOTE = "A name that you used before replaces that save slot."
    LIMIT = LONGEST_LABEL
