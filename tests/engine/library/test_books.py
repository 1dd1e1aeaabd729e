"""Books, played with the scripted provider: what a chapter hands on, and what that costs (design 14)."""

import re
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from bench.recorder import Recorder
from core.config.models.assignments import defaults_for
from core.domain.audience import Audience
from core.domain.errors import BookGoesOnError, ChangedElsewhereError, IllegalCommandError, StorageError
from core.domain.ids import BookId, SessionId, new_uuid
from core.domain.session.carry_over import CarryKind
from core.domain.session.profile import Profile
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.exchange.library.library_marks import BookMark
from core.exchange.session_export import from_json
from core.library.book import Book
from core.providers.scripted.provider import ScriptedProvider
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio

PROMPTS = 21
WHISPERED = 9
"""Of fifteen prompts, counted from 0, the one that Mira alone hears."""
_WORD = re.compile(r"word\d\dn\d\dn\d\d")
NAMES = {Slot.RED: "Mira", Slot.ORANGE: "Joss", Slot.YELLOW: "Rook"}


@pytest.fixture
def engine() -> Engine:
    return Engine(MemoryStore(), ScriptedProvider(), defaults_for("scripted"), label="here")


async def begun(engine: Engine) -> SessionId:
    session_id = await engine.create()
    session = await engine.open(session_id)
    mira = Profile(short_description="She keeps the lamp.", aliases=("The Lamp",), group="Lamp")
    await session.edits.edit_tab1(
        Tab1Edit(
            title="The Lamp",
            world="A sea of glass. " * 40,
            chapter="The lamp is out.",
            names=NAMES,
            identities=dict.fromkeys(NAMES, "Somebody of the island, who has seen much. " * 20),
            profiles={Slot.RED: mira},
        )
    )
    await session.edits.define_narrative("In the past tense.", 900)
    await session.aclose()
    return session_id


async def played(engine: Engine, session_id: SessionId, prompts: int = PROMPTS) -> list[int]:
    """Lock the chapter, play it to its end, and return the tokens of each character's last input."""
    session = await engine.open(session_id)
    await session.edits.edit_tab1(Tab1Edit(chapter="The wind turns, and a sail is seen."))
    await session.wait(await session.lock())
    count = len(await engine.sessions())
    for number in range(prompts):
        slot = Slot(number % 3 + 1)
        heard = Audience.of([Slot.RED]) if number % 15 == WHISPERED else None
        words = " ".join(f"word{count:02}n{number:02}n{at:02}" for at in range(12))
        await session.wait(await session.submit_prompt(slot, f"What of {words}?", heard_by=heard))
        await session.wait_idle()
    tokens = [(await engine.preview(session_id, slot, "And now?")).tokens for slot in NAMES]
    await session.end_chapter()
    await session.wait_idle()
    assert session.snapshot.session.state is SessionState.ENDED
    await session.aclose()
    return tokens


async def test_the_next_chapter_has_cast_world_and_definition_and_an_empty_text(engine: Engine) -> None:
    first = await begun(engine)
    await played(engine, first, 7)
    second = await engine.library.books.next_chapter(first)
    snapshot = await engine.reader(second).load()
    before = await engine.reader(first).load()
    assert snapshot.session.state is SessionState.DRAFT_TAB1
    assert snapshot.session.names == NAMES
    assert (snapshot.session.definition, snapshot.session.target_words) == ("In the past tense.", 900)
    assert (snapshot.tab1.world, snapshot.tab1.chapter) == (before.tab1.world, "")
    assert snapshot.tab1.identities == before.tab1.identities
    assert snapshot.tab1.profiles == before.tab1.profiles
    assert snapshot.tab1.profile_of(Slot.RED).group == "Lamp"
    assert snapshot.tab1.carried
    [book] = await engine.library.books.listed()
    assert (book.title, book.chapters) == ("The Lamp", (first, second))


async def test_a_chapter_that_has_not_ended_hands_nothing_on(engine: Engine) -> None:
    first = await begun(engine)
    with pytest.raises(IllegalCommandError, match="end “The Lamp” first"):
        await engine.library.books.next_chapter(first)
    assert not await engine.library.books.listed()
    assert len(await engine.sessions()) == 1


async def test_a_chapter_that_the_book_has_already_is_not_begun_again_unless_the_gm_insists(
    engine: Engine,
) -> None:
    first = await begun(engine)
    await played(engine, first, 7)
    second = await engine.library.books.next_chapter(first)
    with pytest.raises(BookGoesOnError, match="“The Lamp” goes on with chapter 2 already"):
        await engine.library.books.next_chapter(first)
    assert len(await engine.sessions()) == 2
    between = await engine.library.books.next_chapter(first, again=True)
    [book] = await engine.library.books.listed()
    assert book.chapters == (first, between, second)


async def test_the_gm_strikes_and_pins_lines_before_the_lock_and_changes_none(engine: Engine) -> None:
    first = await begun(engine)
    await played(engine, first, 7)
    second = await engine.library.books.next_chapter(first)
    session = await engine.open(second)
    carried = session.snapshot.tab1.carried
    struck = carried.with_line(0, replace(carried.lines[0], is_struck=True))
    await session.edits.edit_tab1(Tab1Edit(carried=struck))
    assert session.snapshot.tab1.carried == struck
    forged = carried.with_line(0, replace(carried.lines[0], text="The GM never said so."))
    with pytest.raises(IllegalCommandError):
        await session.edits.edit_tab1(Tab1Edit(carried=forged))
    await session.edits.edit_tab1(Tab1Edit(chapter="It goes on."))
    assert session.snapshot.tab1.carried == struck
    await session.wait(await session.lock())
    with pytest.raises(IllegalCommandError):
        await session.edits.edit_tab1(Tab1Edit(carried=carried))
    made = await engine.preview(second, Slot.RED, "And now?")
    told = "".join(segment.text for segment in made.segments)
    assert struck.lines[0].text not in told
    assert any(line.text in told for line in struck.lines[1:])
    await session.aclose()


async def test_chapter_ten_costs_no_more_than_chapter_two_and_every_input_has_the_pins() -> None:
    model = Recorder()
    engine = Engine(MemoryStore(), model, defaults_for("scripted"), label="here")
    chapter = await begun(engine)
    await played(engine, chapter)
    costs: dict[int, list[int]] = {}
    pinned: list[str] = []
    for number in range(2, 11):
        chapter = await engine.library.books.next_chapter(chapter)
        session = await engine.open(chapter)
        carried = session.snapshot.tab1.carried
        if number == 2:
            at = next(at for at, line in enumerate(carried.lines) if line.kind is CarryKind.CANON)
            private = next(
                at
                for at, line in enumerate(carried.lines)
                if line.known_to == ("Mira",) and "word" in line.text
            )
            for place in (at, private):
                carried = carried.with_line(place, replace(carried.lines[place], is_pinned=True))
                pinned.append(carried.lines[place].text)
            await session.edits.edit_tab1(Tab1Edit(carried=carried))
        assert all(text in {line.text for line in carried.lines if line.is_pinned} for text in pinned)
        await session.aclose()
        before = len(model.sent)
        costs[number] = await played(engine, chapter)
    print("tokens of an input of each character, by chapter:", costs)
    for second, tenth in zip(costs[2], costs[10], strict=True):
        assert tenth <= 1.05 * second, costs
    public, private_text = pinned
    in_ten = model.sent[before:]
    assert len(in_ten) == PROMPTS
    assert all(public in text for _, text in in_ten)
    assert all((private_text in text) == (slot is Slot.RED) for slot, text in in_ten)
    # What was whispered to Mira is in no input of another, in any chapter.
    for slot, text in model.sent:
        outside = {word for word in _WORD.findall(text) if int(word[7:9]) % 15 == WHISPERED}
        assert slot is Slot.RED or not outside, f"{slot} was sent {outside}"
    assert any(f"n{WHISPERED:02}n" in text for slot, text in model.sent if slot is Slot.RED)
    [book] = await engine.library.books.listed()
    assert len(book.chapters) == 10


async def test_the_chapter_after_a_copy_goes_on_with_the_story_before_the_copy() -> None:
    store = MemoryStore()
    engine = Engine(store, ScriptedProvider(), defaults_for("scripted"), label="here")
    first = await begun(engine)
    await played(engine, first, 7)
    second = await engine.library.books.next_chapter(first)
    await played(engine, second, 7)
    copy = await engine.branch(second, 5)
    async with aclosing(await engine.open(copy)) as session:
        await session.wait(await session.submit_prompt(Slot.RED, "What of a word that is new?"))
        await session.end_chapter()
        await session.wait_idle()
    third = await engine.library.books.next_chapter(copy)
    found = await store.bank.earlier_chapters(third)
    assert [(one.session_id, one.number) for one in found] == [(first, 1), (copy, 2)]
    # Its lines are those of the second chapter of the story, as the model is told.
    carried = (await engine.reader(third).load()).tab1.carried
    assert {line.chapter for line in carried.lines} == {1, 2}


async def test_an_export_knows_its_book_and_what_it_took_over(engine: Engine) -> None:
    first = await begun(engine)
    await played(engine, first, 7)
    second = await engine.library.books.next_chapter(first)
    body = from_json(await engine.export(second))
    assert body.book is not None
    assert (body.book.title, body.book.number) == ("The Lamp", 2)
    other = Engine(MemoryStore(), ScriptedProvider(), defaults_for("scripted"), label="there")
    copy = await other.import_body(body)
    [book] = await other.library.books.listed()
    assert (book.title, book.chapters) == ("The Lamp", (copy,))
    assert (await other.reader(copy).load()).tab1.carried == body.tab1.carried


@pytest.mark.parametrize("is_there", [True, False])
async def test_a_chapter_is_imported_into_a_book_that_another_window_changes_or_makes(
    engine: Engine, is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = from_json(await engine.export(await begun(engine)))
    body = replace(body, book=BookMark(title="The Lamp", number=2))
    books, first = engine.library.books, await engine.create()
    if is_there:
        await books.create("The Lamp")
    listed = books.listed

    async def as_it_was() -> Sequence[Book]:
        """Return the list from before another window puts a chapter into the book."""
        found = await listed()
        monkeypatch.undo()
        await books.add_to("The Lamp", first)
        return found

    monkeypatch.setattr(books, "listed", as_it_was)
    copy = await engine.import_body(body)
    [book] = await books.listed()
    assert book.chapters == (first, copy)
    assert len([one for one in await engine.sessions() if one.title.endswith("(copy)")]) == 1


async def test_chapters_are_put_into_a_book_moved_and_taken_out(engine: Engine) -> None:
    first, second = await engine.create(), await engine.create()
    books = engine.library.books
    book = await books.create("The Lamp")
    book = await books.add(book, first)
    book = await books.add(book, second, 1)
    assert book.chapters == (second, first)
    other = await books.add(await books.create("Another"), second)
    assert [one.chapters for one in await books.listed()] == [(second,), (first,)]
    with pytest.raises(IllegalCommandError):
        await books.remove(other, first)
    await books.archive(await books.find("the lamp"))
    with pytest.raises(StorageError):
        await books.purge(other)
    await books.purge(await books.find("the lamp", is_archived=True))
    assert await books.of(first) is None


async def test_two_next_chapters_at_once_of_a_chapter_in_no_book_leave_it_in_one_book(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await begun(engine)
    await played(engine, first, 3)
    books = engine.library.books
    read = books._store.books

    async def late(**more: Any) -> Sequence[Book]:
        """Return the books once another window has begun the next chapter too."""
        monkeypatch.setattr(books._store, "books", read)
        await books.next_chapter(first)
        return await read(**more)

    monkeypatch.setattr(books._store, "books", late)
    with pytest.raises(ChangedElsewhereError):
        await books.next_chapter(first)
    [book] = await books.listed()
    assert book.chapters[0] == first
    assert len(book.chapters) == len(await engine.sessions()) == 2


async def test_a_book_that_two_windows_make_at_once_is_one_for_both(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As two `storyengine play` of chapters of one new book do: the other makes it after this one looked."""
    books, made = engine.library.books, list[Book]()
    put = books._store.put_book

    async def late(book: Book, **more: Any) -> None:
        if not made:
            made.append(replace(book, id=BookId(new_uuid())))
            await put(made[0])
        await put(book, **more)

    monkeypatch.setattr(books._store, "put_book", late)
    assert (await books.find_or_create("The Lamp")).id == made[0].id
    assert len(await books.listed()) == 1


async def test_chapters_that_two_windows_put_into_a_book_at_once_are_both_in_it(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = await engine.create(), await engine.create()
    books = engine.library.books
    book = await books.create("The Lamp")
    put, others = books._store.put_book, [replace(book, chapters=(first,))]

    async def late(one: Book, **more: Any) -> None:
        if others:
            await put(others.pop())
        await put(one, **more)

    monkeypatch.setattr(books._store, "put_book", late)
    assert (await books.add_to("The Lamp", second)).chapters == (first, second)
