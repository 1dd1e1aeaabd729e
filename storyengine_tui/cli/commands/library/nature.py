"""`storyengine cast trait` and `cast topic`: what a character is like, and what it cares about."""

from collections.abc import Mapping
from typing import Annotated

import typer

from core.domain.errors import IllegalCommandError
from core.library.characters.character import Topic, Trait
from core.library.characters.nature import Nature, called, items_of, kind_of, typed, with_item, without_item
from storyengine_tui.bootstrap import running_catalog
from storyengine_tui.cli.commands.library.cast import Name, item_line
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.printing import say

Which = Annotated[
    str,
    typer.Argument(
        metavar="WHICH", help="Its name; a new one adds it. Without one all are listed.", show_default=False
    ),
]
NewName = Annotated[str | None, typer.Option("--name", help="Another name for it.")]
Sentiment = Annotated[str | None, typer.Option(help="How the character feels about it, from -1 to 1.")]
Remove = Annotated[bool, typer.Option("--remove", help="Remove it.")]


async def trait(
    name: Name,
    which: Which = "",
    new_name: NewName = None,
    text: Annotated[str | None, typer.Option("--text", help="What it is like.")] = None,
    strength: Annotated[str | None, typer.Option(help="How strong it is, from 0 to 1.")] = None,
    sentiment: Sentiment = None,
    remove: Remove = False,
) -> None:
    """List the traits of a character, set one, or remove one."""
    texts = {"name": new_name, "description": text, "strength": strength, "sentiment": sentiment}
    await _do(name, Trait(name=which), texts, is_removed=remove)


async def topic(
    name: Name,
    which: Which = "",
    new_name: NewName = None,
    perspective: Annotated[str | None, typer.Option(help="What the character thinks of it.")] = None,
    approach: Annotated[str | None, typer.Option(help="How it deals with it.")] = None,
    stake: Annotated[str | None, typer.Option(help="Why it matters to this character.")] = None,
    sentiment: Sentiment = None,
    now: Annotated[str | None, typer.Option(help="How much it is talked about, from 0 to 1.")] = None,
    wanted: Annotated[str | None, typer.Option(help="How much it should be talked about, 0 to 1.")] = None,
    remove: Remove = False,
) -> None:
    """List the topics of a character, set one, or remove one."""
    texts = {
        "name": new_name,
        "perspective": perspective,
        "approach": approach,
        "personal_stake": stake,
        "sentiment": sentiment,
        "exposure_now": now,
        "exposure_desired": wanted,
    }
    await _do(name, Topic(name=which), texts, is_removed=remove)


async def _do(name: str, plain: Nature, texts: Mapping[str, str | None], *, is_removed: bool) -> None:
    """List, set or remove what has the name of `plain`; a text that is None stays as it is."""
    given = {field: text for field, text in texts.items() if text is not None}
    if not plain.name and (given or is_removed):
        raise IllegalCommandError(f"Name the {kind_of(plain)}; nothing was saved.")
    async with running_catalog(await unlocked()) as catalog:
        characters = catalog.library.characters
        character = await characters.find(name)
        items = [one for one in items_of(character) if type(one) is type(plain)]
        found = called(items, plain.name)
        if is_removed and found is None:
            raise IllegalCommandError(
                f"“{character.name}” has no {kind_of(plain)} “{plain.name}”; nothing was removed."
            )
        if is_removed and found is not None:
            there = found
            character = await characters.change(character.id, lambda now: without_item(now, there))
        elif plain.name:
            made = typed(found or plain, given)
            character = await characters.change(character.id, lambda now: with_item(now, made, found))
    shown = [one for one in items_of(character) if type(one) is type(plain)]
    for one in shown:
        say(item_line(one))
    if not shown:
        say(f"“{character.name}” has no {kind_of(plain)} yet.")
