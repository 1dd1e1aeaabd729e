"""`storyengine lore test`: which entries of a lorebook a text activates, and why."""

import asyncio
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from core.context.tokens import estimate_tokens
from core.library.card_lore import LoreFile, read_lore_file
from core.library.cards.card_file import LARGEST_FILE
from core.library.lore.activation.result import ActiveEntry, Outcome
from core.library.lore.activation.scene import Message, ScannedBook, ScanSettings, Scene
from core.library.macros import MacroNames
from core.text.cleaning import clean, clean_line
from storyengine_tui.cli.commands.library.files import read_file
from storyengine_tui.cli.running import command, console, print_bytes, say

if TYPE_CHECKING:
    from core.library.lore.activation.scanner import Activation

LARGEST_TEXT = 4 * 1024 * 1024
"""Bytes of a text to try a book on."""
app = typer.Typer(help="Lorebooks: of cards, SillyTavern, NovelAI, Agnai and Risu.")
_PARAGRAPHS = re.compile(r"\n\s*\n")


@app.callback()
def lore() -> None:
    """Lorebooks: of cards, SillyTavern, NovelAI, Agnai and Risu."""


@command(app, "test")
async def try_(
    file: Annotated[Path, typer.Argument(help="A lorebook, or a card with one.")],
    text: Annotated[Path, typer.Option(help="A text; each paragraph is a message, the last is the newest.")],
    depth: Annotated[
        int | None, typer.Option(min=0, max=1_000, help="Messages to scan; all, unless the book says.")
    ] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="Tokens that lore may take together.")] = None,
    seed: Annotated[str, typer.Option(help="Another seed, another chance.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
) -> None:
    """Say which entries of a lorebook a text activates, and why the others are not."""
    content = await read_file(file, LARGEST_FILE)
    words = clean((await read_file(text, LARGEST_TEXT)).decode("utf-8", "replace"))
    lore_file = await asyncio.to_thread(read_lore_file, content, file.name)
    messages = [
        Message(number, paragraph.strip())
        for number, paragraph in enumerate(filter(str.strip, _PARAGRAPHS.split(words)), start=1)
    ]
    settings = ScanSettings(scan_depth=len(messages) if depth is None else depth, budget=budget)
    activation = await asyncio.to_thread(_activated, lore_file, Scene(messages=messages, seed=seed), settings)
    if as_json:
        print_bytes(_json(lore_file, activation))
    else:
        _print(lore_file, activation)


def _activated(file: LoreFile, scene: Scene, settings: ScanSettings) -> "Activation":
    from core.library.lore.activation.scanner import LoreScanner

    if file.card is not None and file.card.called:
        names = MacroNames(char=file.card.called)
        scene = Scene(messages=scene.messages, seed=scene.seed, names=names, character=file.card.name)
    return LoreScanner(estimate_tokens).activate([ScannedBook(file.book)], scene, settings)


def _print(file: LoreFile, activation: "Activation") -> None:
    outcomes = activation.outcomes
    if not console.is_terminal:
        for outcome in outcomes:
            typer.echo("\t".join(_cells(outcome)))
        return
    table = Table("Active", "Entry", "Why", "Tokens")
    for outcome in outcomes:
        table.add_row(*(Text(cell) for cell in _cells(outcome)))
    console.print(table)
    tokens = sum(outcome.tokens for outcome in outcomes)
    name = clean_line(file.book.name) or file.name
    say(f"{len(activation.active):,} of {len(outcomes):,} entries of {name}: {tokens:,} tokens.")


def _cells(outcome: Outcome) -> tuple[str, ...]:
    name = clean_line(outcome.name) or clean_line(outcome.uid)
    tokens = f"{outcome.tokens:,}" if outcome.is_active else ""
    return ("yes" if outcome.is_active else "no", name, clean_line(outcome.sentence), tokens)


def _json(file: LoreFile, activation: "Activation") -> bytes:
    """Return the result as JSON: escapes and other scripts as ASCII, so that no terminal acts on it."""
    document = {
        "book": file.book.name,
        "tokens": sum(one.outcome.tokens for one in activation.active),
        "active": [_active(one) for one in activation.active],
        "entries": [
            {
                "uid": one.uid,
                "name": one.name,
                "active": one.is_active,
                "reason": one.reason.value,
                "key": one.key,
                "message": one.message,
                "parent": one.parent,
                "why": one.sentence,
            }
            for one in activation.outcomes
        ],
    }
    return json.dumps(document, indent=1).encode() + b"\n"


def _active(one: ActiveEntry) -> dict[str, object]:
    place = one.place
    return {
        "uid": one.outcome.uid,
        "text": one.text,
        "position": place.position.name.lower(),
        "depth": place.depth,
        "role": place.role.name.lower(),
        "order": one.order,
        "tokens": one.outcome.tokens,
    }
