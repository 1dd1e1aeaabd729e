"""Passages of F7 on the window of a call, and on lore and the memory bank: what was in or out, and why."""

from collections.abc import Sequence
from typing import Final

from core.config.models.model_config import PromptStyle
from core.context.lore import BANK, NOTE_ROLE, LoreNote
from core.context.tokens import TOKENS_PER_MESSAGE, estimate_tokens
from core.context.window import WINDOW_NOTES, WindowPart, read_notes, read_places, window_text
from core.domain.requests.request import Artifact
from core.text.cleaning import clean_line
from storyengine_tui.widgets.reading.memory_outline import Passage

TITLE: Final = "The window"
StoredPart = tuple[str, str, str]
"""Role, name and text of a part of an input."""


def passages_of_window(artifact: Artifact, parts: Sequence[StoredPart]) -> list[Passage]:
    """Return a title and the picture of the window; nothing for a call without an input."""
    sent = window_parts(artifact.prompt_version, parts)
    if not sent:
        return []
    # The facts of the call, above it, say what was left out.
    return [Passage(TITLE, len(TITLE), is_title=True), Passage(window_text(sent))]


def window_parts(prompt_version: str, parts: Sequence[StoredPart]) -> list[WindowPart]:
    """Return the parts that were sent, with the same estimate as when they were."""
    style = PromptStyle.SMALL if f"/{PromptStyle.SMALL}@" in prompt_version else PromptStyle.FULL
    notes = next((text for role, name, text in parts if (role, name) == (NOTE_ROLE, WINDOW_NOTES)), "")
    shortened = {part.name: part.compression for part in read_notes(notes)}
    places = read_places(notes)
    return [
        WindowPart(
            clean_line(name),
            estimate_tokens(text, style) + TOKENS_PER_MESSAGE,
            shortened.get(name),
            places.get(name, ""),
        )
        for role, name, text in parts
        if role != NOTE_ROLE
    ]


LORE_TITLE: Final = "Lore"


def passages_of_lore(notes: Sequence[LoreNote]) -> list[Passage]:
    """Return titles, and a passage for each included or omitted entry; nothing without notes."""
    lore = [note for note in notes if note.book != BANK]
    recalled = [note for note in notes if note.book == BANK]
    return [
        *_passages(LORE_TITLE, "Matched, and left out", lore),
        *_passages(BANK, "Found, and left out", recalled),
    ]


def _passages(title: str, left_out: str, notes: Sequence[LoreNote]) -> list[Passage]:
    if not notes:
        return []
    found = [Passage(title, len(title), is_title=True)]
    for heading, is_in in (("In the input", True), (left_out, False)):
        lines = [_line(note) for note in notes if note.is_in is is_in]
        if lines:
            found.append(Passage("\n".join((heading, *lines)), len(heading)))
    return found


def _line(note: LoreNote) -> str:
    book = "" if note.book == BANK else f"{clean_line(note.book)}, "
    return f"{book}“{clean_line(note.entry)}”: {clean_line(note.why)}"
