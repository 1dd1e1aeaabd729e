"""Lorebooks of a chapter, for the tests of the core."""

from collections.abc import Iterable

from core.context.lore import ChapterLore
from core.domain.audience import EVERYONE, Audience
from core.domain.session.lore import ChapterLorebook
from core.domain.slot import Slot
from core.domain.story.reply_uses import LoreUse
from core.library.lore.book import Lorebook, LoreEntry


def entry(uid: str, *keys: str, content: str = "", **fields: object) -> LoreEntry:
    """An entry whose text names it, unless it says something else."""
    return LoreEntry(uid=uid, name=uid, keys=keys, content=content or f"Text of {uid}.", **fields)  # type: ignore[arg-type]


def attached(
    name: str = "Harbour",
    label: Audience = EVERYONE,
    *,
    groups: tuple[str, ...] = (),
    owner: Slot | None = None,
    seed: str = "seed",
) -> ChapterLorebook:
    return ChapterLorebook(
        name=name,
        groups=groups,
        owner=owner,
        label=label,
        entry_count=1,
        file_hash="a" * 64,
        copy_hash="b" * 64,
        copy_length=100,
        seed=seed,
    )


def lore(
    *entries: LoreEntry, label: Audience = EVERYONE, seed: str = "seed", uses: Iterable[LoreUse] = ()
) -> ChapterLore:
    """One book of these entries."""
    return ChapterLore(((attached(label=label, seed=seed), Lorebook(entries=entries)),), tuple(uses))
