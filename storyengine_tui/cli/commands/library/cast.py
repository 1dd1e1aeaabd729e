"""`storyengine cast show`: what a character card holds, and where an import would put it."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from core.library.cards.card_file import LARGEST_FILE, CardFile, read_card
from core.library.cards.report import placements, report
from core.text.cleaning import clean_line
from core.text.graphemes import head
from storyengine_tui.cli.commands.library.files import read_file
from storyengine_tui.cli.running import command, say

app = typer.Typer(help="Characters: cards of version 1 to 3, as JSON, PNG or CHARX.")
_SHOWN = 200
"""Characters of a text that are shown."""


@app.callback()
def cast() -> None:
    """Characters: cards of version 1 to 3, as JSON, PNG or CHARX."""


@command(app)
async def show(
    file: Annotated[Path, typer.Argument(help="A character card: .json, .png or .charx.")],
) -> None:
    """Show what a card holds and where an import would put it; nothing is stored."""
    content = await read_file(file, LARGEST_FILE)
    card_file = await asyncio.to_thread(read_card, content, file.name)
    for line in _lines(card_file):
        say(line)


def _lines(file: CardFile) -> list[str]:
    card = file.card
    tags = ", ".join(card.texts("tags"))
    lines = [
        clean_line(card.name) or "A card without a name",
        f"Version {card.version}, {file.format.upper()}" + (f"; tags: {clean_line(tags)}" if tags else ""),
        "",
    ]
    for one in placements(card):
        text = clean_line(one.text)
        shown = text if len(text) <= _SHOWN else f"{head(text, _SHOWN)}…"
        lines.append(f"{one.title} ({len(one.text):,} characters): {shown}")
    return [*lines, "", *report(file)]
