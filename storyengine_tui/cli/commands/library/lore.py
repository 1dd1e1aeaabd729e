"""`storyengine lore`: the lorebooks of the library, and which entries of one a text activates."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from core.domain.session.profile import GENERAL
from core.engine.services.library.lorebooks import LoreKind
from core.exchange.library.library_files import format_of, read_file, refuse_present, write_new
from core.library.card_lore import LoreFile, read_lore_file
from core.library.lore.activation.result import ActiveEntry, Outcome
from core.library.lore.book import LoreEntry
from core.library.lore.kept import KeptLorebook
from core.library.lore.key_line import shown_keys
from core.library.refusal import LARGEST_FILE
from core.text.cleaning import clean_line
from core.text.numbers import counted
from storyengine_tui.bootstrap import running_catalog
from storyengine_tui.cli.commands.chapter.sessions import (
    SessionArgument,
    closed_chapter,
    find_session,
    lore_line,
)
from storyengine_tui.cli.commands.library.shelf import (
    PASTE,
    Archived,
    add_archive_commands,
    import_each,
    named_file,
)
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.printing import console, say
from storyengine_tui.cli.running import command, one_of, print_bytes, print_rows
from storyengine_tui.screens.shared.kept_text import KeptText

if TYPE_CHECKING:
    from core.library.lore.activation.scanner import Activation

app = typer.Typer(help="Lorebooks: of cards, SillyTavern, NovelAI, Agnai and Risu, and the library of them.")
NAME = typer.Argument(metavar="NAME", help="The name of the lorebook, or the beginning of its id.")
Name = Annotated[str, NAME]
NameOrFile = Annotated[
    str, typer.Argument(metavar="NAME|FILE", help="A lorebook of the library, or a file with one or a card.")
]


@command(app, "list")
async def list_(archived: Archived = False) -> None:
    """List the lorebooks of the library."""
    async with running_catalog(await unlocked()) as catalog:
        listed = await catalog.library.lore.listed(is_archived=archived)
    nothing = "No lorebook is archived." if archived else "The library has no lorebook yet; import one."
    print_rows(("Lorebook", "Entries", "Format", "For the groups"), [_row(one) for one in listed], nothing)


def _row(one: KeptLorebook) -> tuple[str, ...]:
    return (one.name, f"{one.entry_count:,}", one.format, ", ".join(one.groups) or GENERAL, str(one.id))


@command(app, "new")
async def new_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called in the library.")],
) -> None:
    """Make an empty lorebook, to be written in the program: F5, 4, Enter."""
    async with running_catalog(await unlocked()) as catalog:
        book = await catalog.library.lore.create(name)
    say(f"Made “{book.name}”.")


@command(app)
async def show(file: NameOrFile) -> None:
    """Show the entries of a lorebook: name, keys, whether each is on, and its order."""
    lore_file = await _found(file)
    entries = lore_file.book.entries
    print_rows(("Entry", "Keys", "", "Order"), [_entry_cells(entry) for entry in entries])
    if console.is_terminal:
        name = clean_line(lore_file.book.name) or lore_file.name
        say(f"{counted(len(entries), 'entry', 'entries')} of {name}.")


def _entry_cells(entry: LoreEntry) -> tuple[str, ...]:
    state = "always" if entry.is_constant else "on"
    return (
        clean_line(entry.name) or clean_line(entry.uid),
        clean_line(shown_keys(entry.keys)),
        state if entry.is_enabled else "off",
        f"{entry.order:,}",
    )


@command(app)
async def groups(
    name: Name,
    groups: Annotated[
        list[str] | None,
        typer.Argument(metavar="GROUP", help=f"The groups whose members may know it; {GENERAL} for all."),
    ] = None,
) -> None:
    """Say for which groups a lorebook is, or give it others."""
    async with running_catalog(await unlocked()) as catalog:
        book = await catalog.library.lore.find(name)
        if groups:
            book = await catalog.library.lore.save(replace(book, groups=tuple(groups)))
    say(f"“{book.name}” is for {', '.join(book.groups) or GENERAL}.")


@command(app, "import")
async def import_(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE", help=f"Lorebooks, or folders of them; {PASTE} reads JSON from standard input."
        ),
    ],
) -> None:
    """Take lorebooks into the library; each file is kept as it is."""
    await import_each(files, lambda catalog: catalog.library.lore.import_lore, lambda done: done.book.name)


@command(app)
async def export(
    name: Name,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Where to: .json; .png or .charx puts it into a card.")
    ],
    format_: Annotated[
        LoreKind | None,
        typer.Option("--as", **one_of(LoreKind), help="The format of JSON; otherwise as it was imported."),
    ] = None,
) -> None:
    """Write a lorebook as a file; in its own format only what you edited is different from the import."""
    configuration = await unlocked()
    wanted = format_of(file)
    await asyncio.to_thread(refuse_present, file)
    async with running_catalog(configuration) as catalog:
        book = await catalog.library.lore.find(name)
        written = await catalog.library.lore.export(book, wanted, format_)
    await write_new(file, written.content)
    say(f"Wrote “{book.name}” to {file}.")
    for note in written.notes:
        say(note)


add_archive_commands(
    app,
    "lore",
    NAME,
    lambda catalog: catalog.library.lore,
    noun="lorebook",
    forget=lambda lorebook, data: KeptText.forget_entries_of(lorebook.id, data),
)


@command(app)
async def attach(name: Name, session: SessionArgument) -> None:
    """Attach a lorebook to a chapter, as a copy; once more takes over what it holds now."""
    async with running_catalog(await unlocked()) as catalog:
        session_id = await find_session(catalog, session)
        book = await catalog.library.lore.find(name)
        was_there = book.name in {one.name for one in (await catalog.reader(session_id).load()).lore}
        copy = await catalog.library.lore.copy_of(book)
        await catalog.closed(session_id, "attach it there").edits.attach_lore(copy)
        snapshot = await catalog.reader(session_id).load()
    [now] = [one for one in snapshot.lore if one.name == book.name]
    said = "Took over its current content" if was_there else "Attached"
    say(f"{said}: {lore_line(now, snapshot)}.")


@command(app)
async def detach(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the lorebook in the chapter.")],
    session: SessionArgument,
) -> None:
    """Detach a lorebook from a chapter; what was played stays as it is."""
    async with closed_chapter(session, "detach it there") as chapter:
        await chapter.edits.detach_lore(name)
    say(f"Detached “{clean_line(name)}”.")


@command(app, "test")
async def try_(
    file: NameOrFile,
    text: Annotated[Path, typer.Option(help="A text; each paragraph is a message, the last is the newest.")],
    depth: Annotated[
        int | None, typer.Option(min=0, max=1_000, help="Messages to scan; all, unless the book says.")
    ] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="Tokens that lore may take together.")] = None,
    seed: Annotated[str, typer.Option(help="Another seed, another chance.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
) -> None:
    """Say which entries of a lorebook a text activates, and why the others are not."""
    from core.engine.services.library.lore_trial import LARGEST_TEXT, LoreTrialInput, LoreTrials

    lore_file = await _found(file)
    words = (await read_file(text, LARGEST_TEXT)).decode("utf-8", "replace")
    trial = LoreTrialInput(text=words, depth=depth, budget=budget, seed=seed)
    activation = await asyncio.to_thread(LoreTrials().activate, lore_file, trial)
    if as_json:
        print_bytes(_json(lore_file, activation))
    else:
        _print(lore_file, activation)


async def _found(name: str) -> LoreFile:
    """Return the lorebook in a file, else the one of the library that is called so."""
    path = await asyncio.to_thread(named_file, name)
    if path is not None:
        content = await read_file(path, LARGEST_FILE)
        return await asyncio.to_thread(read_lore_file, content, path.name)
    async with running_catalog(await unlocked()) as catalog:
        return await catalog.library.lore.read(await catalog.library.lore.find(name))


def _print(file: LoreFile, activation: "Activation") -> None:
    from core.engine.services.library.lore_trial import in_order, not_tried

    outcomes = in_order(activation)
    print_rows(("Active", "Entry", "Why", "Tokens"), [_cells(outcome) for outcome in outcomes])
    if not console.is_terminal:
        return
    entries = counted(len(outcomes), "entry", "entries")
    tokens = counted(sum(outcome.tokens for outcome in outcomes), "token")
    name = clean_line(file.book.name) or file.name
    say(f"{len(activation.active):,} of {entries} of {name}: {tokens}.")
    if note := not_tried(file):
        say(note)


def _cells(outcome: Outcome) -> tuple[str, ...]:
    name = clean_line(outcome.name) or clean_line(outcome.uid)
    tokens = f"{outcome.tokens:,}" if outcome.is_active else ""
    return ("yes" if outcome.is_active else "no", name, clean_line(outcome.sentence), tokens)


def _json(file: LoreFile, activation: "Activation") -> bytes:
    """Return the result as JSON: escapes and other scripts as ASCII, so that no terminal acts on it."""
    from core.engine.services.library.lore_trial import not_tried

    document = {
        "book": file.book.name,
        "not_tried": not_tried(file),
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
