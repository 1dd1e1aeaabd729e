"""Operations on a memory bank, as commands of the program that is killed: `operation NAME SESSION`."""

from collections.abc import Awaitable, Callable
from typing import Final

from core.domain.bank.item import Validation
from core.domain.session.language import Language
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from tests.torture.operations.operations_beside import until


async def _keep(engine: Engine, session: SessionHandle) -> None:
    """Keep a bank, and wait until the chapter is read and its items have their vectors."""
    await session.keeping.keep(is_on=True)
    await session.keeping.wait_until_read()
    await until(session, lambda: not session.snapshot.background)


async def _change(engine: Engine, session: SessionHandle) -> None:
    """Confirm all items in one change, or take that back."""
    items = await session.bank.items(with_all=True)
    is_on = any(item.validation is not Validation.CONFIRMED for item in items)
    await session.bank.confirm(items, is_on=is_on)


async def _tell_in(engine: Engine, session: SessionHandle) -> None:
    """Set the language of the story to another one, or back to English."""
    is_english = session.snapshot.session.language is Language.ENGLISH
    await session.keeping.set_language(Language.GERMAN if is_english else Language.ENGLISH)


OPERATIONS_OF_BANK: Final[dict[str, Callable[[Engine, SessionHandle], Awaitable[None]]]] = {
    "keep bank": _keep,
    "change items": _change,
    "change language": _tell_in,
}
