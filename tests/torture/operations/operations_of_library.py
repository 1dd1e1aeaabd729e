"""Changes by the screens of the library, as commands of the program that is killed."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from core.domain.session.carry_over import CarriedLine
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.engine.services.library.library import Library
from core.engine.session.session_handle import SessionHandle
from core.library.characters.character import Topic, Trait
from tests.torture.operations.operations_beside import require_done

CHARACTER, LOREBOOK, LORE_TEXT = "Kara", "Harbour", "By the harbour."
_OLDER: Final = " She is older now."


async def _grow_older(library: Library) -> None:
    """Change a character's identity, and give it a trait, a topic and another name."""
    kept = await library.characters.find(CHARACTER)
    changed = replace(
        kept,
        identity=f"{kept.identity}{_OLDER}",
        aliases=(*kept.aliases, "Old Kara"),
        traits=(Trait(name="Patient", strength=0.75),),
        topics=(Topic(name="The sea"),),
    )
    await library.characters.save(changed)


async def _grow_younger(library: Library) -> None:
    """Take back what `_grow_older` changed."""
    kept = await library.characters.find(CHARACTER)
    young = kept.identity.removesuffix(_OLDER)
    await library.characters.save(
        replace(kept, identity=young, aliases=kept.aliases[:-1], traits=(), topics=())
    )


async def _hide_lore(library: Library) -> None:
    """Give a lorebook to a group."""
    await library.lore.save(replace(await library.lore.find(LOREBOOK), groups=("Crew",)))


async def _show_lore(library: Library) -> None:
    await library.lore.save(replace(await library.lore.find(LOREBOOK), groups=()))


async def _write_lore(library: Library) -> None:
    """Edit the text of an entry, within the file that the book came in."""
    await _edit_lore(library, f"{LORE_TEXT} It is deep.")


async def _write_lore_back(library: Library) -> None:
    await _edit_lore(library, LORE_TEXT)


async def _edit_lore(library: Library, text: str) -> None:
    kept = await library.lore.find(LOREBOOK)
    file = await library.lore.read(kept)
    entries = tuple(replace(one, content=text) for one in file.book.entries)
    await library.lore.edit(kept, file, replace(file.book, entries=entries))


async def _convert_lore(library: Library) -> None:
    """Store a lorebook of a format that is only read in place of its file."""
    kept = await library.lore.find("Old")
    await library.lore.convert(kept, await library.lore.read(kept))


async def _next_chapter(engine: Engine, act: Callable[[SessionHandle], Awaitable[None]]) -> None:
    """Do something in the one chapter that takes lines over from an earlier one."""
    listed = [one.id for one in await engine.sessions()]
    [found] = [one for one in listed if (await engine.reader(one).load()).tab1.carried]
    session = await engine.open(found)
    try:
        await act(session)
    finally:
        await session.aclose()


def _marking(mark: Callable[[CarriedLine], CarriedLine]) -> Callable[[Engine], Awaitable[None]]:
    """Return what marks the first line that comes over."""

    async def act(session: SessionHandle) -> None:
        carried = session.snapshot.tab1.carried
        await session.edits.edit_tab1(Tab1Edit(carried=carried.with_line(0, mark(carried.lines[0]))))

    return lambda engine: _next_chapter(engine, act)


async def _lock_next(engine: Engine) -> None:
    """Lock the chapter, or do what is left of it."""

    async def act(session: SessionHandle) -> None:
        await session.wait_idle()
        if not session.snapshot.session.tab1_locked:
            await session.edits.edit_tab1(Tab1Edit(chapter="It goes on."))
            require_done(await session.wait(await session.lock()))

    await _next_chapter(engine, act)


OPERATIONS_OF_NEXT: Final[dict[str, Callable[[Engine], Awaitable[None]]]] = {
    "pin a line": _marking(lambda line: replace(line, is_pinned=True)),
    "strike a line": _marking(lambda line: replace(line, is_struck=True)),
    "lock the next": _lock_next,
}
OPERATIONS_OF_LIBRARY: Final[dict[str, Callable[[Library], Awaitable[None]]]] = {
    "grow older": _grow_older,
    "grow younger": _grow_younger,
    "hide lore": _hide_lore,
    "show lore": _show_lore,
    "write lore": _write_lore,
    "write lore back": _write_lore_back,
    "convert lore": _convert_lore,
}
