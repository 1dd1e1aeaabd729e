"""Names the characters that mark quoted words."""

from typing import Final

QUOTE_MARKS: Final = frozenset("\"'`´‘’‚‛“”„‟«»‹›「」『』")
"""Quotation marks of any language, with apostrophes and what is typed in their place."""
