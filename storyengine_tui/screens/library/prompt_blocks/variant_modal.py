"""Asks for the name of a variant."""

from core.domain.session.prompt_block import LONGEST_VARIANT
from storyengine_tui.screens.library.shelf.title_modal import TitleModal


class VariantModal(TitleModal):
    """Ends with the name of a variant; Esc ends with None."""

    HEADING = "A variant of this chapter"
    PLACEHOLDER = "Its name, such as grim"
    NOTE = "Letters, digits, spaces, - and _. It becomes the active one."
    LIMIT = LONGEST_VARIANT
