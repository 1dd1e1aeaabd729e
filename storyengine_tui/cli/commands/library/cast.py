"""`storyengine cast`: the characters of the library, from cards and into cards."""

import asyncio
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from core.domain.clock import utc_now
from core.domain.slot import Slot
from core.exchange.library.library_files import format_of, read_file, refuse_present, write_new
from core.library.cards.card import CardVersion
from core.library.cards.card_file import CardFile, read_card
from core.library.cards.report import CardTarget, placements, report
from core.library.characters.character import EXPECTED, LibraryCharacter, pause_text, read_end
from core.library.characters.from_card import brought_by, tags_of
from core.library.characters.nature import TITLES, Nature, is_number, items_of, kind_of, shown_fields
from core.library.characters.offers import LORE, chosen_of, offers_of
from core.library.refusal import LARGEST_FILE
from core.text.cleaning import clean_line
from core.text.graphemes import head
from core.text.numbers import counted
from storyengine_tui.bootstrap import running_catalog
from storyengine_tui.cli.commands.chapter.sessions import SessionArgument, find_session
from storyengine_tui.cli.commands.library.shelf import (
    PASTE,
    Archived,
    add_archive_commands,
    import_each,
    named_file,
)
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.printing import say
from storyengine_tui.cli.running import command, given, one_of, print_rows

app = typer.Typer(help="Characters: cards of version 1 to 3, as JSON, PNG or CHARX, and the library of them.")
_SHOWN = 200
"""Characters of a text that are shown."""
_CLEARS = "A blank one clears them."
NAME = typer.Argument(metavar="NAME", help="A name of the character, or the beginning of its id.")
Name = Annotated[str, NAME]


class JsonVersion(StrEnum):
    """The version of a card that is written as JSON."""

    V2 = "v2"
    V3 = "v3"


@command(app, "list")
async def list_(archived: Archived = False) -> None:
    """List the characters of the library."""
    async with running_catalog(await unlocked()) as catalog:
        listed = await catalog.library.characters.listed(is_archived=archived)
    nothing = "No character is archived." if archived else "The library has no character yet; import a card."
    print_rows(("Character", "Other names", "Group", "What it is"), [_cells(one) for one in listed], nothing)


def _cells(one: LibraryCharacter) -> tuple[str, ...]:
    about = one.short_description or clean_line(one.identity)
    said = " · ".join(filter(None, (pause_text(one, utc_now()), about)))
    return (one.name, ", ".join(one.aliases), one.group, head(said, _SHOWN), str(one.id))


@command(app, "import")
async def import_(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE", help=f"Cards, or folders of them; {PASTE} reads JSON from standard input."
        ),
    ],
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Take its groups and model from a card too, and whether it is static."),
    ] = False,
) -> None:
    """Take characters into the library; each file is kept as it is."""
    await import_each(
        files,
        lambda catalog: partial(catalog.library.characters.import_card, is_trusted=trust),
        lambda done: done.character.name,
    )


@command(app)
async def export(
    name: Name,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Where to: .json, .png or .charx says the format.")
    ],
    as_: Annotated[
        JsonVersion | None,
        typer.Option(
            "--as", **one_of(JsonVersion), help="The version of JSON; otherwise as it was imported."
        ),
    ] = None,
) -> None:
    """Write a character as a card; what was not changed is as it was imported."""
    configuration = await unlocked()
    format_ = format_of(file)
    await asyncio.to_thread(refuse_present, file)
    async with running_catalog(configuration) as catalog:
        characters = catalog.library.characters
        character = await characters.find(name)
        written = await characters.export(character, format_, CardVersion[as_.name] if as_ else None)
    await write_new(file, written.content)
    say(f"Wrote “{character.name}” to {file}.")
    for note in written.notes:
        say(note)


@command(app)
async def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME|FILE", help="A character of the library, or a file with a card.")
    ],
) -> None:
    """Show a character of the library, or what a card holds and where an import would put it."""
    path = await asyncio.to_thread(named_file, name)
    if path is not None:
        content = await read_file(path, LARGEST_FILE)
        for line in _lines(await asyncio.to_thread(read_card, content, path.name)):
            say(line)
        return
    async with running_catalog(await unlocked()) as catalog:
        characters = catalog.library.characters
        character = await characters.find(name)
        card = await characters.card(character) if character.imported is not None else None
    for line in _described(character):
        say(line)
    if card is not None:
        say("")
        for line in _lines(card):
            say(line)


def _described(one: LibraryCharacter) -> list[str]:
    about = [
        one.name,
        f"Other names: {', '.join(one.aliases)}" if one.aliases else "",
        one.short_description,
        f"Group: {one.group}; sees {', '.join(sorted(one.sees))}",
        f"Model: {one.model}" if one.model else "",
        "Static: only you change it." if one.is_static else "",
        pause_text(one, utc_now()).capitalize(),
    ]
    about += [f"{kind_of(item).capitalize()} {item_line(item)}" for item in items_of(one)]
    return [line for line in (*about, one.identity) if line]


def item_line(item: Nature) -> str:
    """Return a trait or a topic on one line."""
    texts = {name: clean_line(text) for name, text in shown_fields(item).items() if name != "name" and text}
    numbers = [f"{TITLES[name].lower()} {texts.pop(name)}" for name in list(texts) if is_number(item, name)]
    first, *others = texts.items() if texts else [("", "")]
    more = "".join(f" {TITLES[name]}: {text}" for name, text in others)
    return f"{item.name} ({', '.join(numbers)})" + (f": {first[1]}" if first[1] else "") + more


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
        lines.append(f"{one.title} ({counted(len(one.text), 'character')}): {shown}")
    return [*lines, "", *report(file), *brought_by(card)]


@command(app)
async def take(
    name: Name,
    session: SessionArgument,
    slot: Annotated[int | None, typer.Option(min=1, max=7, help="Where to; the first empty slot.")] = None,
    with_: Annotated[
        str,
        typer.Option(
            "--with",
            metavar="WORDS",
            help="What else of its card, such as scenario,greeting-2,system; all is everything, of several "
            "greetings the first. cast show says what there is.",
        ),
    ] = "",
) -> None:
    """Take a character into a chapter that is not locked, or more of its card into one that has it."""
    from core.agents.context_builder import ContextBuilder
    from core.engine.decisions import card_commands

    configuration = await unlocked()
    async with running_catalog(configuration) as catalog:
        session_id = await find_session(catalog, session)
        library = catalog.library
        character = await library.characters.find(name)
        snapshot = await catalog.reader(session_id).load()
        where = card_commands.slot_for(snapshot, character, None if slot is None else Slot(slot))
        card = (await library.characters.card(character)).card
        lore = await library.lore.copy_in_card(character.id, where.slot, where.name)
        offers = offers_of(card, character.id, where.name)
        chosen, wants_lore = chosen_of(offers, with_, has_lore=lore is not None)
        taken = card_commands.TakenCard(
            character=character,
            slot=where.slot,
            name=where.name,
            tags=() if card is None else tags_of(card),
            offers=chosen,
            lore=lore if wants_lore else None,
        )
        builder = ContextBuilder(configuration.choices)
        await catalog.closed(session_id, "take it there").apply(
            lambda now: card_commands.apply_card(now, taken, builder, utc_now()), needs_memory=True
        )
    say(f"“{where.name}” is in slot {where.slot:d}.")
    for one in chosen:
        say(f"{one.title} → {one.place}.")
    if taken.lore is not None:
        say(f"Lore → {CardTarget.LORE}.")
    left = [one.word for one in offers if one not in chosen]
    left += [LORE] if lore is not None and taken.lore is None else []
    if left:
        say(f"Its card also has: {', '.join(left)}. Take some with --with.")


@command(app, "set")
async def set_(
    name: Name,
    new_name: Annotated[str | None, typer.Option("--name", help="The name that it has from now on.")] = None,
    short: Annotated[str | None, typer.Option("--short", help="What the others on stage are told.")] = None,
    alias: Annotated[list[str] | None, typer.Option(help=f"Another name; give each. {_CLEARS}")] = None,
    group: Annotated[str | None, typer.Option(help="The group that it belongs to.")] = None,
    sees: Annotated[
        list[str] | None, typer.Option(help=f"A group that it sees; give each. {_CLEARS}")
    ] = None,
    static: Annotated[bool | None, typer.Option(help="Only you change it, never the program.")] = None,
    model: Annotated[
        str | None, typer.Option(help="The model that plays it, as account:model; a blank one clears it.")
    ] = None,
) -> None:
    """Change the names of a character, what is told of it, its groups and model, and whether it is static."""
    async with running_catalog(await unlocked()) as catalog:
        characters = catalog.library.characters
        one = await characters.find(name)
        changed = replace(
            one,
            aliases=one.aliases if alias is None else tuple(alias),
            groups_visible=one.groups_visible if sees is None else tuple(sees),
            **given(name=new_name, short_description=short, group=group, is_static=static, model=model),
        )
        stored = await characters.edit(one, changed)
    for line in _described(replace(stored, identity="", traits=(), topics=())):
        say(line)


@command(app)
async def pause(name: Name, until: Annotated[str, typer.Option(metavar="DATE", help=EXPECTED)] = "") -> None:
    """Pause a character: a chapter that is locked meanwhile has it away until the end, or until resume."""
    end = read_end(until)
    async with running_catalog(await unlocked()) as catalog:
        characters = catalog.library.characters
        paused = await characters.pause(await characters.find(name), end)
    say(f"“{paused.name}” is {pause_text(paused, utc_now())}.")


@command(app)
async def resume(name: Name) -> None:
    """End the pause of a character; chapters have it back when they are opened, or with their next prompt."""
    async with running_catalog(await unlocked()) as catalog:
        characters = catalog.library.characters
        resumed = await characters.resume(await characters.find(name))
    say(f"“{resumed.name}” is no longer paused.")


add_archive_commands(
    app,
    "cast",
    NAME,
    lambda catalog: catalog.library.characters,
    noun="character",
    is_lost=", with its card",
    asked="“{}” and its card",
)
