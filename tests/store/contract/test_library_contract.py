"""What a store promises of the library, on PostgreSQL and in memory."""

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from core.domain.errors import ChangedElsewhereError, StorageError
from core.domain.ids import BookId, CharacterId, LorebookId, SessionId, new_uuid
from core.domain.session.carry_over import CarriedLine, CarryKind, CarryOver
from core.domain.session.session import Tab1Inputs
from core.engine.services.library import characters as characters_of_library
from core.engine.services.library.characters import CharacterLibrary
from core.library.book import Book
from core.library.characters.character import Imported, KeptFile, LibraryCharacter, Topic, Trait
from core.library.lore.kept import KeptLorebook
from core.storage.library_store import LibraryCounts
from core.storage.session_store import SessionStore
from tests.store import chapters

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 11, 25, 4, tzinfo=UTC)
CARD = KeptFile("mira.json", b'{"name": "Mira", "first_mes": "\\u00e9"}')


def mira() -> LibraryCharacter:
    return LibraryCharacter(
        id=CharacterId(new_uuid()),
        name="Mira",
        aliases=("The Keeper", "Straße"),
        short_description="Keeps the lamp.",
        identity="Mira keeps the lamp.\n\n{{char}} never sleeps.",
        traits=(Trait(name="Patient", description="She waits.", strength=0.75, sentiment=-0.5),),
        topics=(
            Topic(
                name="The sea",
                perspective="It takes.",
                approach="Quietly.",
                personal_stake="Her brother.",
                sentiment=-1.0,
                exposure_now=0.25,
                exposure_desired=1.0,
            ),
            Topic(name="Bread"),
        ),
        model="o4-mini",
        group="Lighthouse",
        groups_visible=(),
        is_static=True,
        is_paused=True,
        paused_until=NOW + timedelta(days=3),
        imported=Imported("Mira", "Mira keeps the lamp.", "{}", CARD.sha256),
        created_at=NOW,
        updated_at=NOW,
    )


def lorebook(name: str = "Harbour") -> KeptLorebook:
    return KeptLorebook(
        id=LorebookId(new_uuid()),
        name=name,
        groups=("Lighthouse",),
        entry_count=2,
        format="world info",
        file_hash=CARD.sha256,
        created_at=NOW,
        updated_at=NOW,
    )


def book(*chapters_of_it: SessionId, title: str = "The Lamp") -> Book:
    return Book(
        id=BookId(new_uuid()),
        title=title,
        author="N. N.",
        description="Two winters.",
        chapters=chapters_of_it,
        created_at=NOW,
        updated_at=NOW,
    )


async def test_a_character_comes_back_with_every_field_and_its_card_byte_for_byte(
    store: SessionStore,
) -> None:
    character = mira()
    await store.library.put_character(character, card=CARD)
    assert list(await store.library.characters()) == [character]
    assert await store.library.card_of(character.id) == CARD


async def test_a_change_replaces_all_of_a_character_and_keeps_its_card(store: SessionStore) -> None:
    character = mira()
    await store.library.put_character(character, card=CARD)
    changed = replace(character, aliases=("Keeper",), traits=(), topics=character.topics[1:], identity="New")
    await store.library.put_character(changed)
    assert list(await store.library.characters()) == [replace(changed, version=2)]
    assert await store.library.card_of(character.id) == CARD


async def test_what_was_changed_elsewhere_meanwhile_is_not_written_over(store: SessionStore) -> None:
    character = mira()
    await store.library.put_character(character)
    await store.library.put_character(replace(character, identity="First"))
    with pytest.raises(ChangedElsewhereError, match="changed or deleted elsewhere"):
        await store.library.put_character(replace(character, identity="Second"))
    assert [one.identity for one in await store.library.characters()] == ["First"]


@pytest.mark.parametrize("name", ["MIRA", "the  keeper", "STRASSE"])
async def test_a_name_means_one_character_whatever_its_letters(store: SessionStore, name: str) -> None:
    await store.library.put_character(mira())
    other = replace(mira(), id=CharacterId(new_uuid()), name=name, aliases=())
    with pytest.raises(StorageError):
        await store.library.put_character(other)
    assert len(await store.library.characters()) == 1


async def test_a_name_that_is_taken_is_named_with_whose_it_is(store: SessionStore) -> None:
    characters = CharacterLibrary(store.library, lambda: NOW)
    await characters.save(replace(await characters.create("Kara"), aliases=("Chary",)))
    zed = await characters.create("Zed")
    with pytest.raises(StorageError, match="“chary” is already a name of “Kara”; nothing was saved"):
        await characters.save(replace(zed, aliases=("The Fox", "chary")))
    assert [one.aliases for one in await characters.listed()] == [("Chary",), ()]


@pytest.mark.parametrize("step", ["character_of", "problems_of_character"])
async def test_a_large_card_is_read_and_checked_beside_the_event_loop(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    threads = []
    real = getattr(characters_of_library, step)

    def noted(*arguments: object, **options: object) -> object:
        threads.append(threading.get_ident())
        return real(*arguments, **options)

    monkeypatch.setattr(characters_of_library, step, noted)
    await CharacterLibrary(store.library, lambda: NOW).import_card(CARD.content, CARD.name)
    assert threads
    assert threading.get_ident() not in threads


async def test_the_names_of_an_archived_character_are_free_until_it_comes_back(store: SessionStore) -> None:
    character = mira()
    await store.library.put_character(character)
    await store.library.put_character(replace(character, archived_at=NOW))
    assert [one.name for one in await store.library.characters(is_archived=True)] == ["Mira"]
    await store.library.put_character(mira())
    with pytest.raises(StorageError):
        await store.library.put_character(replace(character, version=2))


async def test_only_what_is_archived_is_deleted(store: SessionStore) -> None:
    library, character, lore, one = store.library, mira(), lorebook(), book()
    await library.put_character(character, card=CARD)
    await library.put_lorebook(lore, file=CARD)
    await library.put_book(one)
    with pytest.raises(StorageError):
        await library.purge_character(character.id)
    with pytest.raises(StorageError):
        await library.purge_lorebook(lore.id)
    with pytest.raises(StorageError):
        await library.purge_book(one.id)
    await library.put_character(replace(character, archived_at=NOW))
    await library.put_lorebook(replace(lore, archived_at=NOW))
    await library.put_book(replace(one, archived_at=NOW))
    await library.purge_character(character.id)
    await library.purge_lorebook(lore.id)
    await library.purge_book(one.id)
    for listed in (library.characters, library.lorebooks, library.books):
        assert not await listed(is_archived=True)
        assert not await listed()
    assert await library.card_of(character.id) is None


async def test_a_lorebook_comes_back_with_its_file_and_another_file_replaces_it(store: SessionStore) -> None:
    lore = lorebook()
    await store.library.put_lorebook(lore, file=CARD)
    assert list(await store.library.lorebooks()) == [lore]
    assert await store.library.lore_file(lore.id) == CARD
    other = KeptFile("other.json", b"{}")
    await store.library.put_lorebook(replace(lore, groups=(), file_hash=other.sha256), file=other)
    assert await store.library.lore_file(lore.id) == other
    with pytest.raises(StorageError):
        await store.library.put_lorebook(lorebook("HARBOUR"), file=other)
    with pytest.raises(StorageError):
        await store.library.lore_file(LorebookId(new_uuid()))


async def test_a_book_keeps_the_order_of_its_chapters_and_a_chapter_is_in_one_book(
    store: SessionStore,
) -> None:
    sessions = [chapters.new_session() for _ in range(3)]
    for session in sessions:
        await store.chapters.create(chapters.creation(session))
    first, second, third = (session.id for session in sessions)
    one = book(third, first)
    await store.library.put_book(one)
    assert await store.library.book_of(first) == one
    assert await store.library.book_of(second) is None
    other = book(first, second, title="Another")
    await store.library.put_book(other)
    assert [found.chapters for found in await store.library.books()] == [(first, second), (third,)]
    with pytest.raises(StorageError):
        await store.library.put_book(book(title="ANOTHER"))


async def test_a_book_that_lost_a_chapter_is_not_written_over_as_it_was_before(store: SessionStore) -> None:
    moved, kept = chapters.new_session(), chapters.new_session()
    for session in (moved, kept):
        await store.chapters.create(chapters.creation(session))
    lamp, other = book(kept.id, moved.id), book(title="Other")
    bystander = book(title="Third")
    for one in (lamp, other, bystander):
        await store.library.put_book(one)
    await store.library.put_book(replace(other, chapters=(moved.id,)))
    with pytest.raises(ChangedElsewhereError):
        await store.library.put_book(replace(lamp, author="N. N."))
    found = {one.title: (one.chapters, one.version) for one in await store.library.books()}
    assert found == {"The Lamp": ((kept.id,), 2), "Other": ((moved.id,), 2), "Third": ((), 1)}


async def test_a_new_chapter_is_stored_in_its_book_or_not_at_all(store: SessionStore) -> None:
    session, late = chapters.new_session(), chapters.new_session()
    one = book(session.id)
    await store.library.put_book(one, new_chapter=chapters.creation(session))
    assert (await store.load(session.id)).session == session
    assert await store.library.book_of(session.id) == one
    await store.library.put_book(replace(one, author="N. N."))
    stale = replace(one, chapters=(session.id, late.id))
    with pytest.raises(StorageError):
        await store.library.put_book(stale, new_chapter=chapters.creation(late))
    # Nor in a new book with a chapter that another window has put into one.
    other = book(session.id, late.id, title="Other")
    with pytest.raises(ChangedElsewhereError):
        await store.library.put_book(other, new_chapter=chapters.creation(late))
    assert [found.id for found in await store.chapters.listed()] == [session.id]
    assert [found.chapters for found in await store.library.books()] == [(session.id,)]


async def test_what_a_chapter_takes_over_comes_back_line_by_line(store: SessionStore) -> None:
    lines = tuple(
        CarriedLine(kind=kind, text=f"Line {kind}.", known_to=("Mira", "Joß"), chapter=3, is_pinned=True)
        for kind in CarryKind
    )
    session = chapters.new_session()
    tab1 = Tab1Inputs(world="Ash", carried=CarryOver(budget=400, lines=lines))
    await store.chapters.create(chapters.creation(session, tab1))
    assert (await store.load(session.id)).tab1 == tab1


async def test_the_library_says_how_much_it_has_without_what_is_archived(store: SessionStore) -> None:
    assert not (await store.library.counts()).is_used
    await store.library.put_character(mira())
    await store.library.put_lorebook(lorebook(), file=CARD)
    await store.library.put_book(book())
    await store.library.put_book(replace(book(title="Gone"), archived_at=NOW))
    assert await store.library.counts() == LibraryCounts(books=1, characters=1, lorebooks=1)
