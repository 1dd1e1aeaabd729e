"""Lines that are always or never sent at random, new scenes, and what no model may be given then."""

from typing import TYPE_CHECKING

from core.domain.story.context_status import ContextStatus, always_of, marked
from core.engine.session.session_handle import SessionHandle
from core.text.canonical_json import canonical
from tests.leaks.canaries import tokens_in
from tests.leaks.stored import Stored, read_stored

if TYPE_CHECKING:
    from tests.leaks.random_chapter import RandomChapter


async def mark_some(chapter: "RandomChapter") -> None:
    """Give a line of canon a status."""
    canon = (await read_stored(chapter.store, chapter.session.id)).played
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


def never_sent(stored: Stored) -> set[str]:
    """Return the tokens of lines that are never sent, but for those that something else has too."""
    canon = marked(stored.played, stored.snapshot.statuses)
    hidden = {token for event in canon if event.is_never_sent for token in tokens_in(event.text)}
    told = {token for event in canon if not event.is_never_sent for token in tokens_in(event.text)}
    blocks = (*stored.blocks, *stored.revisions)
    told |= {token for block in blocks for token in tokens_in(canonical(block.payload).decode())}
    return hidden - told - {token for secret in stored.snapshot.secrets for token in tokens_in(secret.text)}


async def never_sent_now(chapter: "RandomChapter") -> set[str]:
    """Return these tokens of the chapter as it is stored."""
    return never_sent(await read_stored(chapter.store, chapter.session.id))


def is_kept(session: SessionHandle, stored: Stored) -> bool:
    """Whether the window has the lines that are always sent, once it has read them."""
    now = session.snapshot
    known = {event.log_place for event in (*now.kept, *now.recent, *now.undone)}
    canon = {event.log_place for event in stored.canon}
    return not now.is_recent_known or always_of(stored.snapshot.statuses) & canon <= known
