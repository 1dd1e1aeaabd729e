"""What is told again, corrected, or gone back to in random chapters."""

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.context.canon_locks import has_lock
from core.domain.ids import SessionId
from core.domain.requests.request import ReplyRequest
from core.domain.story.memory import BlockType
from tests.leaks.canaries import Slots, slots_of, tokens_in
from tests.leaks.stored import Stored, read_stored

if TYPE_CHECKING:
    from tests.leaks.random_chapter import RandomChapter


@dataclass(frozen=True, slots=True)
class Kept:
    """A save slot of the GM's, and what the GM had pinned at that time."""

    session_id: SessionId
    number: int
    pinned: dict[str, Slots]


async def tell_again(chapter: "RandomChapter") -> None:
    """Tell some or all what only some had heard: they know it then, for as long as that is canon."""
    stored = await read_stored(chapter.store, chapter.session.id)
    told = {token for event in stored.played for token in tokens_in(event.text)}
    private = sorted(one for one in told & chapter.ledger.labels.keys() if is_private(chapter, one))
    if private:
        slot, token = chapter.draw.choice(chapter.cast), chapter.draw.choice(private)
        chapter.ledger.told_again.add(token)
        own = chapter.ledger.new(chapter.here | {slot})
        await chapter._try(chapter.session.submit_prompt, slot, f"Then {token} comes out at {own}.")


def is_private(chapter: "RandomChapter", token: str) -> bool:
    return 0 < len(chapter.ledger.labels[token]) < chapter.count


def heard_again(chapter: "RandomChapter", stored: Stored) -> None:
    """Note who heard what was told again: by stored canon, and by prompts that are not answered yet."""
    ledger = chapter.ledger
    heard = [(one.text, one.audience) for one in stored.played]
    heard += [
        (one.text, one.audience)
        for one in stored.snapshot.requests
        if isinstance(one, ReplyRequest) and (one.state.is_open or one.has_failed)
    ]
    for text, audience in heard:
        for token in tokens_in(text) & ledger.told_again:
            ledger.told[token] = ledger.told.get(token, frozenset()) | (slots_of(audience) & ledger.cast)


async def edit_block(chapter: "RandomChapter") -> None:
    """Write a block of memory anew, with a token for those who may know it."""
    blocks = [one for one in await chapter.session.reads.memory_blocks() if one.type is BlockType.TURN_DELTA]
    if blocks:
        block = chapter.draw.choice(blocks)
        token = chapter.ledger.new(slots_of(block.audience) & chapter.ledger.cast)
        own = {"thread": f"By hand {token}", "stakes": "", "next_likely_trigger": ""}
        threads: list[object] = [*block.payload.get("unresolved_threads", ()), own]  # type: ignore[misc]
        text = json.dumps({**block.payload, "unresolved_threads": threads})
        await chapter._try(chapter.session.takes.edit_block, block.last, text, ordinal=block.ordinal)


async def keep_slot(chapter: "RandomChapter") -> None:
    """Keep the chapter in a save slot."""
    await chapter._expected()
    kept = await chapter.engine.save_points.keep(chapter.session.id, f"Slot {chapter.draw.randint(1, 3)}")
    chapter.kept = Kept(chapter.session.id, kept.number, dict(chapter.ledger.pinned))


async def go_back(chapter: "RandomChapter") -> None:
    """Go on from the save slot, if it is of this chapter."""
    kept = chapter.kept
    if kept is None or kept.session_id != chapter.session.id:
        return
    await chapter.session.aclose()
    chapter.ledger.pinned = dict(kept.pinned)
    await chapter._go_on_in(await chapter.engine.save_points.restore(kept.session_id, kept.number))


async def forget_pins(chapter: "RandomChapter") -> None:
    """Forget what is known as pinned of locks that a block has: a branch has what its own memory has."""
    blocks = await chapter.session.reads.memory_blocks()
    for lock in chapter.session.snapshot.session.pinned:
        if any(has_lock(block, lock) for block in blocks):
            for token in tokens_in(lock):
                chapter.ledger.pinned.pop(token, None)


async def change_item(chapter: "RandomChapter") -> None:
    """Edit an item of the bank, with a token for those who may know it."""
    items = list(await chapter.session.bank.items()) if chapter.keeps_bank else []
    if items:
        item = chapter.draw.choice(items)
        own = chapter.ledger.new(slots_of(item.label) & chapter.ledger.cast)
        chapter.ledger.of_bank.add(own)
        await chapter._try(
            chapter.session.bank.edit, item, replace(item, name=f"The {own}", text=f"{item.text} And {own}.")
        )
