"""Reads prose in an answer."""

import re
from typing import Final

_FENCE: Final = re.compile(r"\A```[^\n]*\n(?P<inner>.*)\n```\Z", re.DOTALL)


def unfenced(text: str) -> str:
    """Return a text without white space around it, nor a code fence around the whole of it."""
    text = text.strip()
    fence = _FENCE.match(text)
    return text if fence is None or "```" in fence["inner"] else fence["inner"].strip()
