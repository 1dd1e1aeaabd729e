"""`storyengine bank`: whether a chapter keeps a memory bank, what is in it, and changes of that."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Annotated, Protocol

import typer
from rich.table import Table
from rich.text import Text

from core.context.visibility import names_of
from core.domain.bank.details import ItemKind
from core.domain.bank.item import Item
from core.domain.errors import IllegalCommandError
from core.domain.requests.request import BackgroundRequest
from core.domain.session.language import LANGUAGES, read_language
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.engine.bank.service import NO_BANK, Bank
from core.engine.kinds.bank.requests import is_extraction
from core.text.cleaning import clean_line
from storyengine_tui.bootstrap import running_catalog
from storyengine_tui.cli.commands.chapter.sessions import SessionArgument, find_character, find_session
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.running import command, console, say
from storyengine_tui.screens.bank.bank_rows import mark_of, spoken

Find = Callable[[str], Slot]


class Mark(Protocol):
    """A method of the bank that marks items, or takes the mark back."""

    def __call__(self, bank: Bank, items: Sequence[Item], /, *, is_on: bool) -> Awaitable[Sequence[Item]]:
        """Return the items that were changed, as they are now."""


app = typer.Typer(help="The memory bank: people, places, threads, facts and quotes of a chapter, one by one.")
Ids = Annotated[
    list[str],
    typer.Argument(metavar="ITEM", help="The id of an item, or how it begins; several are possible."),
]
Off = Annotated[bool, typer.Option("--off", help="Take it back.")]
SHORT = 8
"""Characters of an id that are shown: its end, where ids differ."""


@command(app, "on")
async def on(session: SessionArgument) -> None:
    """Keep a memory bank of a chapter; what was played is read as soon as it is opened."""
    unread = await _keep(session, is_on=True)
    parts = "1 part" if len(unread) == 1 else f"{len(unread):,} parts"
    more = f" {parts} of it will be read, in the background, while it is open." if unread else ""
    say(f"The chapter keeps a memory bank.{more}")


@command(app, "off")
async def off(session: SessionArgument) -> None:
    """Stop keeping a memory bank of a chapter; its items stay, and are not recalled."""
    await _keep(session, is_on=False)
    say("The chapter keeps no memory bank; the items that it has stay.")


@command(app)
async def language(
    session: SessionArgument,
    wanted: Annotated[
        str, typer.Argument(metavar="[LANGUAGE]", help=f"One of {LANGUAGES}; nothing to be told which it is.")
    ] = "",
) -> None:
    """Say in which language a story is told: recall and search know the forms of its words."""
    if wanted and read_language(wanted) is None:
        raise IllegalCommandError(f"“{clean_line(wanted)}” is not among the languages: {LANGUAGES}.")
    async with running_catalog(await unlocked()) as catalog:
        session_id = await find_session(catalog, session)
        if (language := read_language(wanted)) is not None:
            await catalog.set_language(session_id, language)
        stored = (await catalog.store.load(session_id)).session.language
    say(f"The language of the chapter is {stored.value}.")


async def _keep(session: str, *, is_on: bool) -> list[BackgroundRequest]:
    async with running_catalog(await unlocked()) as catalog:
        session_id = await find_session(catalog, session)
        await catalog.keep_bank(session_id, is_on=is_on)
        snapshot = await catalog.store.load(session_id)
    return [one for one in snapshot.background if is_extraction(one)]


@command(app, "list")
async def list_(
    session: SessionArgument,
    as_: Annotated[str, typer.Option("--as", metavar="NAME", help="Only what this character may know.")] = "",
    kind: Annotated[ItemKind | None, typer.Option(help="Only items of this kind.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Also what was rejected, merged or undone.")] = False,
    is_json: Annotated[bool, typer.Option("--json", help="Print all there is to an item, as JSON.")] = False,
) -> None:
    """List the items of a chapter's memory bank, in the order of play."""
    async with _bank_of(session) as (bank, chapter, find):
        items = await bank.items(with_all=all_, kinds=None if kind is None else (kind,))
        slot = find(as_) if as_ else None
    shown = [item for item in items if slot is None or slot in item.label]
    if is_json:
        typer.echo(_json(shown, chapter))
    elif not console.is_terminal:
        for item in shown:
            typer.echo("\t".join(_cells(item, chapter)))
    elif not shown:
        say("The bank has nothing like that.")
    else:
        table = Table("Id", "Kind", "State", "Prompt", "Known to", "Name", "Text")
        for item in shown:
            table.add_row(*(Text(cell) for cell in _cells(item, chapter)))
        console.print(table)


@command(app)
async def confirm(session: SessionArgument, items: Ids, off: Off = False) -> None:
    """Say of items that they are true: they do not fade."""
    await _mark(session, items, Bank.confirm, "No longer confirmed" if off else "Confirmed", is_on=not off)


@command(app)
async def pin(session: SessionArgument, items: Ids, off: Off = False) -> None:
    """Pin items: they do not fade, and come first."""
    await _mark(session, items, Bank.pin, "No longer pinned" if off else "Pinned", is_on=not off)


@command(app)
async def reject(session: SessionArgument, items: Ids, off: Off = False) -> None:
    """Take items out; nothing like them is proposed again."""
    await _mark(session, items, Bank.reject, "Counts again" if off else "Rejected", is_on=not off)


@command(app)
async def close(session: SessionArgument, items: Ids, off: Off = False) -> None:
    """Close threads, or open them again with --off."""
    await _mark(session, items, Bank.close, "Open again" if off else "Closed", is_on=not off)


async def _mark(session: str, ids: Sequence[str], mark: Mark, said: str, *, is_on: bool) -> None:
    """Change items in one of the ways that can be taken back, and say what was changed."""
    async with _bank_of(session) as (bank, _, _):
        changed = await mark(bank, await _found(bank, ids), is_on=is_on)
    _say(said, changed)


@command(app)
async def merge(session: SessionArgument, items: Ids) -> None:
    """Merge items that say the same into the one that most may know."""
    async with _bank_of(session) as (bank, _, _):
        kept = await bank.merge(await _found(bank, items))
    say(f"Merged into {_short(kept)} “{kept.name}”.")


@command(app)
async def edit(
    session: SessionArgument,
    item: Annotated[str, typer.Argument(metavar="ITEM", help="The id of an item, or how it begins.")],
    name: Annotated[str | None, typer.Option(help="Its name from now on.")] = None,
    text: Annotated[str | None, typer.Option(help="Its text from now on.")] = None,
    importance: Annotated[float | None, typer.Option(min=0, max=1, help="Its importance, 0 to 1.")] = None,
    sentiment: Annotated[
        float | None, typer.Option(min=-1, max=1, help="How the cast feels about it, -1 to 1.")
    ] = None,
) -> None:
    """Change the words of an item; no model replaces yours."""
    async with _bank_of(session) as (bank, _, _):
        if all(one is None for one in (name, text, importance, sentiment)):
            raise IllegalCommandError("Say what is to be changed: --name, --text, --importance, --sentiment.")
        (found,) = await _found(bank, [item])
        typed = replace(
            found,
            name=found.name if name is None else name,
            text=found.text if text is None else text,
            importance=found.importance if importance is None else importance,
            sentiment=found.sentiment if sentiment is None else sentiment,
        )
        await bank.edit(found, typed)
    say(f"Stored: {_short(found)}.")


@command(app)
async def undo(session: SessionArgument) -> None:
    """Undo the last change of the bank of a chapter."""
    async with _bank_of(session) as (bank, _, _):
        changed = await bank.undo()
    _say("Undone", changed)


@command(app)
async def redo(session: SessionArgument) -> None:
    """Make the change again that was undone last."""
    async with _bank_of(session) as (bank, _, _):
        changed = await bank.redo()
    _say("Done again", changed)


@asynccontextmanager
async def _bank_of(name: str) -> AsyncIterator[tuple[Bank, Session, Find]]:
    """Yield the bank of a chapter, the chapter, and what finds its characters."""
    async with running_catalog(await unlocked()) as catalog:
        session_id = await find_session(catalog, name)
        snapshot = await catalog.reader(session_id).load()
        if not snapshot.session.keeps_bank:
            raise IllegalCommandError(NO_BANK)
        yield catalog.bank(session_id), snapshot.session, lambda text: find_character(snapshot, text)


async def _found(bank: Bank, ids: Sequence[str]) -> list[Item]:
    """Return the items with these ids; raise IllegalCommandError for one that is not one alone."""
    items = await bank.items(with_all=True)
    found = []
    for wanted in ids:
        matching = [item for item in items if _is_meant(item, wanted)]
        if len(matching) != 1:
            many = "No item has" if not matching else f"{len(matching):,} items have"
            raise IllegalCommandError(f"{many} the id “{wanted}”; `storyengine bank list` shows the ids.")
        found += matching
    return found


def _is_meant(item: Item, wanted: str) -> bool:
    return len(wanted) >= 4 and (str(item.id).startswith(wanted) or str(item.id).endswith(wanted))


def _short(item: Item) -> str:
    return str(item.id)[-SHORT:]


def _say(words: str, changed: Sequence[Item]) -> None:
    say(f"{words}: {len(changed):,}." if changed else "Nothing was changed: that is what they are already.")


def _cells(item: Item, session: Session) -> tuple[str, ...]:
    return (
        _short(item),
        item.kind.value,
        mark_of(item).replace("✓", "confirmed"),
        str(item.proved_at),
        names_of(item.label, session),
        clean_line(item.name),
        spoken(item),
    )


def _json(items: Sequence[Item], session: Session) -> str:
    from pydantic import TypeAdapter  # Only for this.

    plain = TypeAdapter(list[Item]).dump_python(list(items), mode="json")
    for item, fields in zip(items, plain, strict=True):
        fields["known_to"] = names_of(item.label, session)
    return json.dumps(plain, ensure_ascii=False, indent=2)
