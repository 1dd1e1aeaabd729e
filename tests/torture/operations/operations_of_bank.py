"""Operations on a memory bank, as commands of the program that is killed: `operation NAME SESSION`."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

from core.domain.bank.details import FactDetails, ItemKind
from core.domain.bank.evidence import LONGEST_WORDS
from core.domain.bank.item import Item, ItemOrigin, Validation
from core.domain.ids import new_uuid
from core.domain.session.language import Language
from core.engine.engine import Engine
from core.engine.services.bank.item_changes import NewItem
from core.engine.session.session_handle import SessionHandle
from tests.torture.operations.operations_beside import until


async def _keep(engine: Engine, session: SessionHandle) -> None:
    """Keep a bank, and wait until the chapter is read and its items have their vectors."""
    await session.keeping.keep(is_on=True)
    await session.keeping.wait_until_read()
    await until(session, lambda: not session.snapshot.background)


async def _stop_keeping(engine: Engine, session: SessionHandle) -> None:
    """Keep no bank any longer, while parts of the chapter are read or wait to be."""
    await session.keeping.keep(is_on=False)


async def _work_off(engine: Engine, session: SessionHandle) -> None:
    """Wait until no work beside the play is left."""
    await until(session, lambda: not session.snapshot.background)


async def _prepare_search(engine: Engine, session: SessionHandle) -> None:
    """Wait until all texts of the chapter have their vectors, as for a search of the GM."""
    await session.vectors.ask_for_search()
    await until(session, lambda: not session.snapshot.background)


async def _change(engine: Engine, session: SessionHandle) -> None:
    """Confirm all items in one change, or take that back."""
    items = await session.bank.items(with_all=True)
    is_on = any(item.validation is not Validation.CONFIRMED for item in items)
    await session.bank.confirm(items, is_on=is_on)


async def _add(engine: Engine, session: SessionHandle) -> None:
    """Add an item of the GM's own."""
    mark = new_uuid()
    added = NewItem(f"The mark {mark}", f"The mark {mark} is on the door.", FactDetails())
    await session.bank.add(session.snapshot.session, added)


async def _edit(engine: Engine, session: SessionHandle) -> None:
    """Write more about the newest item of the GM's own."""
    item = (await _facts(session, is_own=True))[-1]
    await session.bank.edit(item, replace(item, text=f"{item.text} It is as red as {new_uuid()}."))


async def _merge(engine: Engine, session: SessionHandle) -> None:
    """Merge the newest item that play gave and the newest of the GM's own."""
    facts = [(await _facts(session, is_own=is_own))[-1] for is_own in (False, True)]
    await session.bank.merge(facts)


async def _quote(engine: Engine, session: SessionHandle) -> None:
    """Keep the words of the first line of which no quote is kept."""
    kept = {
        (proof.prompt_index, proof.ordinal)
        for item in await session.bank.items()
        for proof in item.evidence
        if item.kind is ItemKind.QUOTE
    }
    line = next(one for one in await session.reads.canon() if (one.prompt_index, one.ordinal) not in kept)
    await session.bank.quote(session.snapshot.session, line, line.text[:LONGEST_WORDS].strip())


async def _facts(session: SessionHandle, *, is_own: bool) -> Sequence[Item]:
    """Return the facts that count, oldest first: those of the GM's own, or those that play gave."""
    items = await session.bank.items(kinds=[ItemKind.FACT])
    return sorted(
        (item for item in items if (item.origin is ItemOrigin.GM) is is_own), key=lambda item: item.id
    )


async def _tell_in(engine: Engine, session: SessionHandle) -> None:
    """Set the language of the story to another one, or back to English."""
    is_english = session.snapshot.session.language is Language.ENGLISH
    await session.keeping.set_language(Language.GERMAN if is_english else Language.ENGLISH)


OPERATIONS_OF_BANK: Final[dict[str, Callable[[Engine, SessionHandle], Awaitable[None]]]] = {
    "keep bank": _keep,
    "stop keeping": _stop_keeping,
    "work off": _work_off,
    "prepare search": _prepare_search,
    "change items": _change,
    "add item": _add,
    "edit item": _edit,
    "merge items": _merge,
    "keep quote": _quote,
    "change language": _tell_in,
}
