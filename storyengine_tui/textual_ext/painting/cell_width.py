"""Text that needs no measuring: every character takes one cell, and no two combine."""

import re
from typing import Final

_PLAIN: Final = re.compile(
    "["
    " -~"
    "\u00a0-\u00ac\u00ae-\u02ff"  # Latin, without the soft hyphen
    "\u0370-\u0377\u037a-\u037f\u0384-\u0482\u048a-\u052f"  # Greek, Cyrillic
    "\u1e00-\u1eff"
    "\u2010-\u2027\u2030-\u205e\u20a0-\u20c0\u2190-\u21ff"  # dashes, quotation marks, arrows
    "\u2500-\u259f"  # the lines of boxes, scroll bars
    "]*"
)


def is_plain(text: str) -> bool:
    """Whether `text` takes as many cells as it has characters and may be cut anywhere.

    Prose nearly always does; splitting it into graphemes takes twenty times as long.
    """
    return _PLAIN.fullmatch(text) is not None
