"""The questions of `make canon` in stored chapters, and older values among what is recalled for them."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from bench.canon.measure import Questioner, Result, Way, embed_items, opened, together
from bench.canon.story import Story, write_next, write_story
from core.agents.context_builder import ContextBuilder
from core.config.models.assignments import choose_models
from core.config.sections import ProfileSettings
from core.domain.clock import utc_now
from core.domain.ids import BookId, new_uuid
from core.library.book import Book
from core.providers.embedding.base import Embedding
from db.store import PostgresStore

pytestmark = pytest.mark.anyio
ALL_RECALLED = ProfileSettings(provider="local", recall_percent=50)
"""Room for all items, and for so little of memory that it does not say itself what was before."""


class OneMeaning:
    """Gives every text the same vector: whatever may be recalled is as near as the rest."""

    name, model, base_url, dimensions, most_characters = "scripted", "one meaning", None, 4, None

    async def is_here(self) -> bool:
        return True

    async def start(self) -> None:
        return None

    async def embed(self, texts: Sequence[str], seconds: float) -> Embedding:
        return Embedding(vectors=((1.0, 0.0, 0.0, 0.0),) * len(texts), model=self.model)

    async def aclose(self) -> None:
        return None


def without_links(story: Story) -> Story:
    """Return a story whose items take the place of no other."""
    items = tuple(replace(item, supersedes=None) for item in story.items)
    return replace(story, changes=replace(story.changes, items=items))


async def asked(store: PostgresStore, told: Story, about: Story, profile: ProfileSettings) -> Result:
    embedder = OneMeaning()
    await embed_items(store, embedder, told.items)
    builder = ContextBuilder(choose_models(profile))
    chapter = await opened(store, told.changes.session_id)
    secrets = [item.text for story in (told, about) for item in story.items if not item.label.is_everyone]
    results = await Questioner(store, builder, embedder).ask(chapter, about.planted, secrets, (Way.BOTH,))
    return together(results, Way.BOTH)


@pytest.mark.parametrize("is_linked", [True, False])
async def test_an_older_value_is_recalled_only_where_no_item_took_its_place(
    store: PostgresStore, *, is_linked: bool
) -> None:
    first = write_story(seed=5, prompts=80, items=36, questions=4)
    following = write_next(first)
    told, next_told = (one if is_linked else without_links(one) for one in (first, following))
    await store.chapters.create(told.changes)
    here = await asked(store, told, first, ALL_RECALLED)
    assert here.changed_asked == sum(bool(one.outdated) for one in first.planted) > 0
    await store.chapters.create(next_told.changes)
    now, ids = utc_now(), (first.changes.session_id, following.changes.session_id)
    book = Book(id=BookId(new_uuid()), title="Canon", chapters=ids, created_at=now, updated_at=now)
    await store.library.put_book(book)
    later = await asked(store, next_told, following, ALL_RECALLED)
    assert later.changed_asked == sum(bool(one.outdated) for one in following.planted) > here.changed_asked
    assert later.recall == 1.0
    assert later.leaks == here.leaks == 0
    if is_linked:
        assert here.stale == later.stale == 0.0
    else:
        assert later.stale == 1.0
        assert here.stale > 0.0
