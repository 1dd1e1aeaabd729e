"""`storyengine bank`: whether a chapter keeps a memory bank, what is in it, and changes of that."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Annotated, Any, Protocol

import typer
from rich.table import Table
from rich.text import Text

from core.context.visibility import names_of
from core.domain.audience import EVERYONE
from core.domain.bank.details import (
    DETAILS_OF,
    Aspect,
    Details,
    ItemKind,
    QuoteDetails,
    StateDetails,
    ThreadDetails,
)
from core.domain.bank.evidence import find_words
from core.domain.bank.item import Item
from core.domain.errors import IllegalCommandError
from core.domain.ids import ItemId
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.engine.services.bank.bank import NO_BANK, Bank
from core.engine.services.bank.item_changes import NewItem, speaker_of
from core.engine.services.bank.provenance import ItemProvenance
from core.text.numbers import counted
from storyengine_tui.cli.commands.chapter.bank_keeping import app as app
from storyengine_tui.cli.commands.chapter.sessions import (
    SessionArgument,
    closed_chapter,
    find_character,
)
from storyengine_tui.cli.printing import console, say
from storyengine_tui.cli.running import command, echo_rows, given, one_of, print_json
from storyengine_tui.screens.bank.bank_rows import called, mark_of, shown_title, spoken
from storyengine_tui.screens.bank.item_numbers import has_id, read_decay, read_items, read_prompt, shown_id

Find = Callable[[str], Slot]


class Mark(Protocol):
    """A method of the bank that marks items, or takes the mark back."""

    def __call__(self, bank: Bank, items: Sequence[Item], /, *, is_on: bool) -> Awaitable[Sequence[Item]]:
        """Return the items that were changed, as they are now."""


Ids = Annotated[
    list[str],
    typer.Argument(metavar="ITEM", help="The id of an item, or how it begins; several are possible."),
]
PartOfSheet = Annotated[
    Aspect | None,
    typer.Option(**one_of(Aspect), help="The part of the character sheet that a state belongs to."),
]
Toward = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The other character of a relation, by name or number; “” for none."),
]
Off = Annotated[bool, typer.Option("--off", help="Take it back.")]
NOT_SAID = "No line of prompt {} has these words, or they are too few; `storyengine show` prints all lines."
DOES_NOT_COUNT = "does not count"
"""State of an item that something newer has replaced, or whose prompt was undone."""
SO_ALREADY = "Nothing was changed: it is so already."
ONLY_A_STATE = "Only a state has a part of the sheet that it belongs to."
ONLY_A_RELATION = "Only a relation is toward someone: a state with --aspect relation."
NOTHING_TYPED = "Name what to change, such as --name, --text or --importance; --help lists everything."


@command(app, "list")
async def list_(
    session: SessionArgument,
    as_: Annotated[str, typer.Option("--as", metavar="NAME", help="Only what this character may know.")] = "",
    kind: Annotated[
        ItemKind | None, typer.Option(**one_of(ItemKind), help="Only items of this kind.")
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Also what was rejected, merged, replaced or undone.")
    ] = False,
    alike: Annotated[
        bool, typer.Option("--alike", help="Only items that may say the same, one group after the other.")
    ] = False,
    is_json: Annotated[bool, typer.Option("--json", help="Print all there is to an item, as JSON.")] = False,
) -> None:
    """List the items of a chapter's memory bank, in the order of play."""
    async with _bank_of(session) as (bank, chapter, find):
        kinds = None if kind is None else (kind,)
        counting = await bank.items(kinds=kinds)
        items = await bank.items(with_all=True, kinds=kinds) if all_ else counting
        slot = find(as_) if as_ else None
        shown = [item for item in items if slot is None or slot in item.label]
        groups = [[item for item in group if item in shown] for group in await bank.alike()] if alike else []
        shown = [item for group in groups if len(group) > 1 for item in group] if alike else shown
        provenance = await bank.provenance(shown) if is_json else {}
    ids = {item.id for item in counting}
    if is_json:
        print_json(_plain(shown, chapter, provenance, ids))
    elif not console.is_terminal:
        echo_rows(_cells(item, chapter, ids) for item in shown)
    elif not shown:
        say("The bank has nothing like that.")
    else:
        table = Table("Id", "Kind", "State", "Prompt", "Known to", "Name", "Text")
        last = {group[-1].id for group in groups if group}
        for item in shown:
            table.add_row(*(Text(cell) for cell in _cells(item, chapter, ids)), end_section=item.id in last)
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
    say(f"Merged into {shown_id(kept.id)} “{shown_title(kept)}”.")


@command(app)
async def add(
    session: SessionArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is about, in a few words.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What is true of it.")],
    kind: Annotated[
        ItemKind, typer.Option(**one_of(ItemKind), help="What kind of item it is.")
    ] = ItemKind.FACT,
    about: Annotated[str, typer.Option(metavar="NAME", help="The character that it is about.")] = "",
    aspect: PartOfSheet = None,
    toward: Toward = None,
    known_to: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A character that knows it, as often as needed; without it, all."),
    ] = None,
) -> None:
    """Add an item of your own: it is confirmed, and no prompt takes it back."""
    async with _bank_of(session) as (bank, chapter, find):
        label = chapter.audience_of(map(find, known_to)) if known_to else EVERYONE
        slot, details = find(about) if about else None, DETAILS_OF[kind]()
        details = _of_sheet(details, aspect, _named(toward, chapter, find))
        made = await bank.add(chapter, NewItem(name, text, details, label, slot))
    say(f"Added: {shown_id(made.id)}.")


@command(app)
async def quote(
    session: SessionArgument,
    prompt: Annotated[
        int, typer.Argument(metavar="PROMPT", min=0, help="The number of the prompt with the words.")
    ],
    words: Annotated[
        str, typer.Argument(metavar="WORDS", help="The words, as they are in one line of the transcript.")
    ],
    line: Annotated[
        int | None, typer.Option(min=0, help="Their line, from 0, which is your text; without it, the first.")
    ] = None,
) -> None:
    """Keep words of the story as a quote, for those who heard them."""
    async with closed_chapter(session) as closed:
        chapter = (await closed.reads.load()).session
        listed = await closed.reads.canon(first=prompt, last=prompt)
        events = [event for event in listed if line in (None, event.ordinal)]
        said = next((event for event in events if find_words(event.text, words)), None)
        if said is None:
            raise IllegalCommandError(NOT_SAID.format(prompt))
        made = await closed.bank.quote(chapter, said, words)
    say(f"Kept as a quote of {speaker_of(made)}: {shown_id(made.id)}.")


@command(app)
async def edit(
    session: SessionArgument,
    item: Annotated[str, typer.Argument(metavar="ITEM", help="The id of an item, or how it begins.")],
    name: Annotated[str | None, typer.Option(help="Its name from now on.")] = None,
    text: Annotated[str | None, typer.Option(help="Its text from now on.")] = None,
    about: Annotated[
        str | None, typer.Option(metavar="NAME", help="The character that it is about; “” for none.")
    ] = None,
    over: Annotated[
        bool | None, typer.Option("--over/--holds", help="Whether a state is over, or a thread is closed.")
    ] = None,
    aspect: PartOfSheet = None,
    toward: Toward = None,
    importance: Annotated[float | None, typer.Option(min=0, max=1, help="Its importance, 0 to 1.")] = None,
    confidence: Annotated[float | None, typer.Option(min=0, max=1, help="How certain it is, 0 to 1.")] = None,
    sentiment: Annotated[
        float | None, typer.Option(min=-1, max=1, help="How the cast feels about it, -1 to 1.")
    ] = None,
    fading: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="What a prompt takes of its importance, 0 to 1, or “never”."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="PROMPT", help="The last prompt at which it is recalled, or “never”."),
    ] = None,
    proves: Annotated[
        str | None, typer.Option(metavar="ITEMS", help="What a quote proves: names or ids, with ; between.")
    ] = None,
) -> None:
    """Change an item; no model replaces your words."""
    typed = (name, text, about, over, aspect, toward, importance, confidence, sentiment, fading, until)
    async with _bank_of(session) as (bank, chapter, find):
        if all(one is None for one in (*typed, proves)):
            raise IllegalCommandError(NOTHING_TYPED)
        (found,) = await _found(bank, [item])
        details = _of_sheet(_over(found.details, over), aspect, _named(toward, chapter, find))
        changed = replace(
            found,
            about=found.about if about is None else find(about) if about.strip() else None,
            details=await _proving(bank, details, proves),
            decay_rate=found.decay_rate if fading is None else read_decay(fading, found.decay_rate),
            expires_at=found.expires_at if until is None else read_prompt(until),
            **given(name=name, text=text, importance=importance, confidence=confidence, sentiment=sentiment),
        )
        stored = await bank.edit(found, changed)
    say(SO_ALREADY if stored.version == found.version else f"Saved: {shown_id(found.id)}.")


async def _proving(bank: Bank, details: Details, proves: str | None) -> Details:
    """Return the details of a quote with the items that it proves."""
    if proves is None:
        return details
    if not isinstance(details, QuoteDetails):
        raise IllegalCommandError("Only a quote proves other items.")
    proved = read_items(proves, details.data_item_ids, await bank.items())
    return replace(details, data_item_ids=proved)


def _of_sheet(details: Details, aspect: Aspect | None, toward: str | None) -> Details:
    """Return the details of a state with its part of the sheet, and the other one of a relation."""
    if aspect is None and toward is None:
        return details
    if not isinstance(details, StateDetails):
        raise IllegalCommandError(ONLY_A_RELATION if aspect is None else ONLY_A_STATE)
    state = details if aspect is None else replace(details, aspect=aspect)
    if toward is None:
        return state
    if toward and state.aspect is not Aspect.RELATION:
        raise IllegalCommandError(ONLY_A_RELATION)
    return replace(state, other=toward)


def _named(toward: str | None, chapter: Session, find: Find) -> str | None:
    """Return the other one of a relation: the character with a slot number, else the typed name of anyone."""
    typed = toward and toward.strip()
    return chapter.name_of(find(typed)) if typed and typed.isdecimal() else typed


def _over(details: Details, is_over: bool | None) -> Details:
    """Return the details of a state that is over or holds, or of a thread that is closed or open."""
    match details:
        case _ if is_over is None:
            return details
        case StateDetails():
            return replace(details, is_over=is_over)
        case ThreadDetails():
            return replace(details, is_closed=is_over)
        case _:
            raise IllegalCommandError("Only a state can be over, and only a thread closed.")


@command(app)
async def undo(session: SessionArgument) -> None:
    """Undo the last change of the bank of a chapter."""
    async with _bank_of(session) as (bank, _, _):
        changed = await bank.undo()
    _say_taken_back("Undone", changed)


@command(app)
async def redo(session: SessionArgument) -> None:
    """Make the change again that was undone last."""
    async with _bank_of(session) as (bank, _, _):
        changed = await bank.redo()
    _say_taken_back("Done again", changed)


@asynccontextmanager
async def _bank_of(name: str) -> AsyncIterator[tuple[Bank, Session, Find]]:
    """Yield the bank of a chapter, the chapter, and what finds its characters."""
    async with closed_chapter(name) as closed:
        snapshot = await closed.reads.load()
        if not snapshot.session.keeps_bank:
            raise IllegalCommandError(NO_BANK)
        yield closed.bank, snapshot.session, lambda text: find_character(snapshot, text)


async def _found(bank: Bank, ids: Sequence[str]) -> list[Item]:
    """Return the items with these ids; raise IllegalCommandError for one that is not one alone."""
    items = await bank.items(with_all=True)
    found = []
    for wanted in ids:
        matching = [item for item in items if has_id(item, wanted)]
        if len(matching) != 1:
            many = counted(len(matching), "item has", "items have") if matching else "No item has"
            raise IllegalCommandError(f"{many} the id “{wanted}”; `storyengine bank list` shows the ids.")
        found += matching
    return found


def _say(words: str, changed: Sequence[Item]) -> None:
    say(f"{words}: {len(changed):,}." if changed else SO_ALREADY)


def _say_taken_back(words: str, changed: Sequence[Item]) -> None:
    """Say what was undone or done again; one item by its name, since the command named none."""
    what = f"“{shown_title(changed[0])}”" if len(changed) == 1 else counted(len(changed), "item")
    say(f"{words}: {what}.")


def _cells(item: Item, session: Session, counting: Collection[ItemId]) -> tuple[str, ...]:
    counts = item.id in counting
    mark = mark_of(item, is_out=item.is_out and not counts).replace("✓", "confirmed")
    return (
        shown_id(item.id),
        item.kind.value,
        mark if counts or item.is_out else DOES_NOT_COUNT,
        str(item.proved_at),
        names_of(item.label, session),
        called(item),
        spoken(item),
    )


def _plain(
    items: Sequence[Item],
    session: Session,
    provenance: Mapping[ItemId, ItemProvenance],
    counting: Collection[ItemId],
) -> list[dict[str, Any]]:
    from pydantic import TypeAdapter  # Only for this.

    plain: list[dict[str, Any]] = TypeAdapter(list[Item]).dump_python(list(items), mode="json")
    made = TypeAdapter(ItemProvenance)
    for item, fields in zip(items, plain, strict=True):
        fields["counts"] = item.id in counting
        fields["known_to"] = names_of(item.label, session)
        fields["source_origin"] = item.source_origin.value
        fields["memory"] = item.kind.memory.value
        if item.id in provenance:
            fields |= made.dump_python(provenance[item.id], mode="json")
    return plain
