"""Dialogs of the library that ask for one line: titles, names and paths."""

from typing import ClassVar

from core.domain.session.limits import LONGEST_NAME
from core.domain.session.prompt_block import LONGEST_VARIANT
from core.domain.story.save_point import LONGEST_LABEL
from storyengine_tui.widgets.dialogs.line_modal import LineModal

LONGEST_TITLE = 120
NO_NAME = "Type a name first."


class TitleModal(LineModal):
    """Ends with the title; a blank one is taken from the chapter text. Esc keeps the old one."""

    HEADING: ClassVar = "Title of the chapter"
    PLACEHOLDER: ClassVar = "Taken from the chapter text"
    REPLACES: ClassVar = True
    NOTE: ClassVar = "Left blank, it is taken from the chapter text."
    LIMIT: ClassVar = LONGEST_TITLE


class SavePointNameModal(LineModal):
    """Ends with the name under which a chapter is saved as it is now."""

    HEADING = "Save the chapter as it is now"
    PLACEHOLDER = "A name for it"
    REPLACES = True
    EMPTY = NO_NAME
    NOTE = "A name that you used before replaces that save slot."
    LIMIT = LONGEST_LABEL


class BookModal(LineModal):
    """Ends with the title of a book, which may be a new one; a blank one takes out of a book."""

    HEADING = "The book that this chapter belongs to"
    PLACEHOLDER = "Title of the book"
    REPLACES = True
    NOTE = "A title that no book has makes one. Left blank, the chapter is in no book."
    LIMIT = LONGEST_NAME


class NameModal(LineModal):
    """Ends with a name for something in the library."""

    HEADING = "Its name in the library"
    PLACEHOLDER = "A name"
    REPLACES = True
    LIMIT = LONGEST_NAME
    EMPTY = NO_NAME


class PathModal(LineModal):
    """Ends with a path."""

    LIMIT = 1_000
    EMPTY = "Type a path first."


class FileModal(PathModal):
    """Ends with the path of a file or a folder to import."""

    HEADING = "Import a file, or a folder of them"
    PLACEHOLDER = "Path, such as ~/cards"
    NOTE = (
        "A card or lorebook (.json, .png, .jpg, .charx, .lorebook), an exported chapter (.json), or a chat "
        "of SillyTavern (.jsonl)."
    )
    SAVE = "Import"


class ExportModal(PathModal):
    """Ends with the path of the file to write."""

    HEADING = "Export to a file"
    PLACEHOLDER = "Path that ends in .json, .png or .charx"
    NOTE = "The ending says the format. Nothing is written over."
    SAVE = "Export"


class VariantModal(TitleModal):
    """Ends with the name of a variant; Esc ends with None."""

    HEADING = "A variant of this chapter"
    PLACEHOLDER = "Its name, such as grim"
    NOTE = "Letters, digits, spaces, - and _. It becomes the active one."
    LIMIT = LONGEST_VARIANT
    EMPTY = NO_NAME
