"""The lorebooks that a chapter script names, attached to its chapter."""

from typing import TYPE_CHECKING

from core.domain.session.carry_over import person_key
from core.engine.session.session_handle import SessionHandle
from core.exchange.scripts.chapter_script import ChapterScript

if TYPE_CHECKING:  # Loaded for scripts that name a lorebook.
    from core.engine.services.library.service import Library


async def attach_lore_of(script: ChapterScript, session: SessionHandle, library: "Library") -> None:
    """Attach the lorebooks of a script that its chapter does not have yet; the others stay as they are.

    Raises StoryEngineError for one that the library does not have, before any is attached.
    """
    present = {book.key for book in session.snapshot.lore}
    wanted = [await library.lore.find(name) for name in script.lore if person_key(name) not in present]
    for book in wanted:
        await session.edits.attach_lore(await library.lore.copy_of(book))
