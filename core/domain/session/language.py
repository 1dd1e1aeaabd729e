"""The language in which a story is told: how the words of its memory bank are made (design 15)."""

from enum import StrEnum
from typing import Final


class Language(StrEnum):
    """A language whose forms of a word are taken for one; the values are PostgreSQL's configurations.

    Every server from version 14 on has them.
    """

    ARABIC = "arabic"
    ARMENIAN = "armenian"
    BASQUE = "basque"
    CATALAN = "catalan"
    DANISH = "danish"
    DUTCH = "dutch"
    ENGLISH = "english"
    FINNISH = "finnish"
    FRENCH = "french"
    GERMAN = "german"
    GREEK = "greek"
    HINDI = "hindi"
    HUNGARIAN = "hungarian"
    INDONESIAN = "indonesian"
    IRISH = "irish"
    ITALIAN = "italian"
    LITHUANIAN = "lithuanian"
    NEPALI = "nepali"
    NORWEGIAN = "norwegian"
    PORTUGUESE = "portuguese"
    ROMANIAN = "romanian"
    RUSSIAN = "russian"
    SERBIAN = "serbian"
    SIMPLE = "simple"
    """Any other one: words are taken as they are written."""
    SPANISH = "spanish"
    SWEDISH = "swedish"
    TAMIL = "tamil"
    TURKISH = "turkish"
    YIDDISH = "yiddish"


LANGUAGES: Final = ", ".join(Language)
"""Their names, as a sentence lists them."""


def read_language(typed: str) -> Language | None:
    """Return the language of this name, in any case; None if there is no such language."""
    name = typed.strip().casefold()
    return next((one for one in Language if one == name), None)
