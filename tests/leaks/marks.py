"""Lines that are always or never sent at random, new scenes, and what no model may be given then."""

from typing import TYPE_CHECKING

from core.domain.story.context_status import ContextStatus, always_of, marked, place_of
from core.text.canonical_json import canonical
from tests.leaks.canaries import tokens_in

if TYPE_CHECKING:
    from tests.leaks.random_chapter import RandomChapter
    from tests.store.in_memory.memory_rows import Rows


async def mark_some(chapter: "RandomChapter") -> None:
    """Give a line of canon a status."""
    rows = chapter.store.database.sessions[chapter.session.id]
    canon = [event for event in rows.canon if event.prompt_index <= rows.session.prompt_index]
    if canon:
        event, status = chapter.draw.choice(canon), chapter.draw.choice(list(ContextStatus))
        if status is ContextStatus.NEVER:
            chapter.hidden |= tokens_in(event.text)
        await chapter._try(chapter.session.scene.set_status, [event], status)


async def new_scene(chapter: "RandomChapter") -> None:
    """Begin a scene, with words for some or without."""
    hearers = chapter._some()
    words = chapter.draw.choice(["", f"At the mill {chapter.ledger.new(hearers)}."])
    await chapter._try(chapter.session.scene.begin_scene, words, hearers=sorted(hearers))


def never_sent(rows: "Rows") -> set[str]:
    """Return the tokens of lines that are never sent, but for those that something else has too."""
    last = rows.session.prompt_index
    canon = marked([event for event in rows.canon if event.prompt_index <= last], rows.statuses)
    hidden = {token for event in canon if event.is_never_sent for token in tokens_in(event.text)}
    told = {token for event in canon if not event.is_never_sent for token in tokens_in(event.text)}
    told |= {
        token for block in rows.blocks.values() for token in tokens_in(canonical(block.payload).decode())
    }
    return hidden - told - {token for secret in rows.secrets for token in tokens_in(secret.text)}


def is_kept(chapter: "RandomChapter") -> bool:
    """Whether the window has the lines that are always sent, once it has read them."""
    now = chapter.session.snapshot
    rows = chapter.store.database.sessions[chapter.session.id]
    known = {place_of(event) for event in (*now.kept, *now.recent, *now.undone)}
    canon = {place_of(event) for event in rows.canon}
    return not now.is_recent_known or always_of(rows.statuses) & canon <= known
