"""Lorebooks of a chapter on a real store: copies, who may know them, where they go along (design 14)."""

import asyncio
import json
import threading
from dataclasses import replace

import pytest

from core.agents.sections import lore as lore_of_inputs
from core.domain.audience import EVERYONE, Audience
from core.domain.errors import IllegalCommandError, StorageError
from core.domain.session.lore import MOST_BOOKS
from core.domain.session.profile import Profile
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.services.library.lorebooks import LoreLibrary
from core.exchange.session_export import ImportRefusedError, from_json
from core.library.refusal import FileRefusedError
from core.text.canonical_json import canonical, checksum
from db.parts.calls import PostgresCalls
from db.store import PostgresStore
from tests.core.library.cards.card_samples import V2, text_of
from tests.engine.library.lore_table import (
    begun,
    engine_on,
    entry,
    inputs_of,
    kept,
    locked,
    lore_given,
    say,
)

pytestmark = pytest.mark.anyio

RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW
GUILD = Profile(group="Guild")
WALLED_OFF = Profile(group="Guild", groups_visible=())


async def test_an_edit_in_the_library_changes_no_chapter_until_the_book_is_attached_again(
    store: PostgresStore,
) -> None:
    engine = engine_on(store)
    book = await kept(engine, entry("lamp", "Old oil."))
    session = await locked(engine, book)
    await engine.library.lore.archive(book)
    other = await kept(engine, entry("lamp", "New oil."))
    renamed = await engine.library.lore.save(replace(other, name=book.name))
    assert "Old oil." in await lore_given(engine, session.id, "The lamp?")
    await session.edits.attach_lore(await engine.library.lore.copy_of(renamed))
    assert len(session.snapshot.lore) == 1
    assert "New oil." in await lore_given(engine, session.id, "The lamp?")
    await say(session, "The lamp?")
    assert any("New oil." in text for text in (await inputs_of(session))[-1])
    await session.aclose()


async def test_groups_become_the_label_at_the_lock(store: PostgresStore) -> None:
    engine = engine_on(store)
    guild = await kept(engine, entry("lamp", "Guild."), groups=("Guild",))
    general = await kept(engine, entry("lamp", "General."))
    session = await begun(engine)
    for book in (guild, general):
        await session.edits.attach_lore(await engine.library.lore.copy_of(book))
    assert session.snapshot.lore[0].label == Audience.of(())
    await session.edits.edit_tab1(Tab1Edit(profiles={RED: GUILD, ORANGE: WALLED_OFF}))
    await session.wait(await session.lock())
    labels = [book.label for book in session.snapshot.lore]
    assert labels == [Audience.of((RED, ORANGE)), Audience.of((RED, YELLOW))]
    given = {slot: await lore_given(engine, session.id, "The lamp?", slot) for slot in (RED, ORANGE, YELLOW)}
    for slot, expected in ((RED, (True, True)), (ORANGE, (True, False)), (YELLOW, (False, True))):
        assert ("Guild." in given[slot], "General." in given[slot]) == expected
    late = await kept(engine, entry("lamp", "Late."), groups=("Guild",))
    await session.edits.attach_lore(await engine.library.lore.copy_of(late))
    assert session.snapshot.lore[2].label == Audience.of((RED, ORANGE))
    await session.aclose()


async def test_a_book_that_is_detached_is_in_no_later_input(store: PostgresStore) -> None:
    engine = engine_on(store)
    book = await kept(engine, entry("lamp"))
    session = await locked(engine, book)
    await say(session, "The lamp?")
    await session.edits.detach_lore(book.name.upper())
    await say(session, "The lamp?")
    first, second = await inputs_of(session)
    assert any("=== LORE" in text for text in first)
    assert not any("=== LORE" in text for text in second)
    with pytest.raises(IllegalCommandError, match="it has none"):
        await session.edits.detach_lore(book.name)
    await session.aclose()


async def test_a_chapter_without_lorebooks_asks_the_store_for_none(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_on(store)
    session = await locked(engine)
    monkeypatch.setattr(store, "lore_uses", None)
    monkeypatch.setattr(PostgresCalls, "contents", None)
    await say(session, "The lamp?")
    assert (await engine.preview(session.id, RED, "And?")).lore == ()
    await session.aclose()


async def test_lore_goes_along_into_branches_copies_save_points_and_the_next_chapter(
    store: PostgresStore,
) -> None:
    engine = engine_on(store)
    book = await kept(engine, entry("lamp", "Old oil."), groups=("Guild",))
    session = await locked(engine, book, profiles={ORANGE: GUILD})
    await say(session, "The lamp?", ORANGE)
    await session.create_save_point("now")
    point = (await engine.save_points.listed(session.id))[-1]
    document = await engine.export(session.id)
    await session.edits.detach_lore(book.name)
    restored = await engine.save_points.restore(session.id, point.number)
    copied = await engine.import_body(from_json(document))
    await session.edits.attach_lore(await engine.library.lore.copy_of(book))
    branch = await engine.branch(session.id, 1)
    await session.end_chapter()
    await session.wait_idle()
    following = await engine.library.books.next_chapter(session.id)
    for made in (restored, copied, branch, following):
        [one] = (await engine.reader(made).load()).lore
        assert (one.name, one.label) == (book.name, Audience.of((ORANGE,)))
        if made != following:
            assert "Old oil." in await lore_given(engine, made, "The lamp?", ORANGE)
            assert not await lore_given(engine, made, "The lamp?", RED)
    [here], [there] = session.snapshot.lore, (await engine.reader(following).load()).lore
    assert here.seed != there.seed
    await session.aclose()
    await engine.archive(copied)
    await engine.purge(copied)
    with pytest.raises(StorageError):
        await engine.reader(copied).load()


async def test_an_input_of_any_prompt_is_made_again_from_what_is_stored(store: PostgresStore) -> None:
    engine = engine_on(store)
    chancy = [entry("and", f"Chance {number}: {{{{random:a,b,c}}}}.", probability=50) for number in range(9)]
    timed = [entry("bell", sticky=5, cooldown=4), entry("and", "Late.", delay=6)]
    once = entry("and", "@@dont_activate_after_match\nOnce.")
    session = await locked(engine, await kept(engine, *chancy, *timed, once))
    texts = [
        "The bell, and?",
        "And now?",
        "The bell, and?",
        "And then?",
        "And the bell?",
        "And so?",
        "And on?",
    ]
    for number, text in enumerate(texts):
        await say(session, text, Slot(number % 2 + 1))
    sent = await inputs_of(session)
    given = [next((text for text in one if text.startswith("=== LORE")), "") for one in sent]
    assert len(set(given)) == len(texts), "chance and time made each of them another"
    await session.aclose()
    again = engine_on(store)
    reopened = await again.open(session.id)
    for number in reversed(range(len(texts))):
        await reopened.takes.undo()
        context = await again.preview(session.id, Slot(number % 2 + 1), texts[number])
        assert [one.text for one in context.segments] == sent[number], f"prompt {number + 1}"
    await reopened.aclose()


async def test_another_take_has_the_same_lore_and_undo_takes_back_what_was_active(
    store: PostgresStore,
) -> None:
    engine = engine_on(store)
    session = await locked(engine, await kept(engine, entry("bell", sticky=6), entry("it", probability=50)))
    await say(session, "The bell! Is it?")
    await session.wait(await session.takes.reroll())
    await session.wait_idle()
    first, again = await inputs_of(session)
    assert first == again
    assert "Of bell." in await lore_given(engine, session.id, "And now?")
    await session.takes.correct_reply("By hand.")
    assert "Of bell." in await lore_given(engine, session.id, "And now?")
    await session.takes.undo()
    assert "Of bell." not in await lore_given(engine, session.id, "And now?")
    await session.takes.redo()
    await say(session, "And now?")
    assert any("Of bell." in text for text in (await inputs_of(session))[-1])
    await session.aclose()


async def test_what_was_active_long_ago_is_known_after_a_restart(store: PostgresStore) -> None:
    engine = engine_on(store)
    session = await locked(engine, await kept(engine, entry("bell", "@@keep_activate_after_match\nKept.")))
    await say(session, "The bell!")
    for number in range(16):
        await say(session, f"Number {number}?")
    assert any("Kept." in text for text in (await inputs_of(session))[-1])
    assert all(event.prompt_index > 1 for event in session.snapshot.recent)
    await session.aclose()
    reopened = await engine_on(store).open(session.id)
    await say(reopened, "And now?")
    assert any("Kept." in text for text in (await inputs_of(reopened))[-1])
    await reopened.aclose()


async def test_several_who_are_called_have_the_lore_of_the_prompt(store: PostgresStore) -> None:
    engine = engine_on(store)
    session = await locked(engine, await kept(engine, entry("bell")))
    await session.wait(await session.submit_prompt(RED, "The bell!", then=[ORANGE, YELLOW]))
    await session.wait_idle()
    inputs = await inputs_of(session)
    assert len(inputs) == 3
    assert all(any("Of bell." in text for text in one) for one in inputs)
    await session.aclose()


async def test_lore_is_looked_for_off_the_event_loop(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = set()
    real = lore_of_inputs.LoreReader.find

    def find(*values: object, **more: object) -> object:
        threads.add(threading.current_thread())
        return real(*values, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(lore_of_inputs.LoreReader, "find", find)
    engine = engine_on(store)
    session = await locked(engine, await kept(engine, entry("bell")))
    await session.wait(await session.submit_prompt(RED, "The bell!", then=[ORANGE]))
    await session.wait_idle()
    await engine.preview(session.id, RED, "The bell?")
    assert threads
    assert threading.main_thread() not in threads
    await session.aclose()


async def test_a_window_that_follows_sees_the_books_of_the_one_that_writes(store: PostgresStore) -> None:
    writing, following = engine_on(store), engine_on(store)
    session = await begun(writing)
    other = await following.open(session.id)
    with other.listen() as listener:
        await session.edits.attach_lore(
            await writing.library.lore.copy_of(await kept(writing, entry("bell")))
        )
        async with asyncio.timeout(60):
            async for _ in listener:
                if other.snapshot.lore:
                    break
    assert other.snapshot.lore == session.snapshot.lore
    await other.aclose()
    await session.aclose()


async def test_a_chapter_has_so_many_books_and_characters_of_them(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_on(store)
    session = await begun(engine)
    copy = await engine.library.lore.copy_of(await kept(engine, entry("bell")))
    for number in range(MOST_BOOKS):
        await session.edits.attach_lore(replace(copy, book=replace(copy.book, name=f"Book {number}")))
    with pytest.raises(IllegalCommandError, match=f"at most {MOST_BOOKS} lorebooks"):
        await session.edits.attach_lore(copy)
    monkeypatch.setattr("core.engine.services.library.lorebooks.LONGEST_COPY", 10)
    with pytest.raises(FileRefusedError, match="too long for a chapter"):
        await engine.library.lore.copy_of(await kept(engine, entry("bell")))
    assert isinstance(engine.library.lore, LoreLibrary)
    await session.aclose()


OTHER_LORE: tuple[tuple[dict[str, object], str], ...] = (
    ({"name": ""}, "is not valid"),
    ({"copy_length": 5}, "missing, or no lorebook"),
    ({"copy_hash": "c" * 64}, "missing, or no lorebook"),
    ({"owner": 8}, "lore.0.owner"),
    ({"seed": "a-b"}, "is not valid"),
    ({"groups": [" x"]}, "is not valid"),
)


async def test_an_export_with_other_lore_than_this_program_writes_is_refused(store: PostgresStore) -> None:
    engine = engine_on(store)
    session = await locked(engine, await kept(engine, entry("bell")))
    exported = await engine.export(session.id)
    await session.aclose()
    for change, reason in OTHER_LORE:
        print(change)
        document = json.loads(exported)
        document["body"]["lore"][0] |= change
        document["sha256"] = checksum(canonical(document["body"]))
        with pytest.raises(ImportRefusedError, match=reason):
            from_json(json.dumps(document).encode())


async def test_everyone_knows_a_book_of_the_general_group_and_the_narrative_is_given_none(
    store: PostgresStore,
) -> None:
    engine = engine_on(store)
    session = await locked(engine, await kept(engine, entry("bell", "A crack in it.")))
    assert session.snapshot.lore[0].label == EVERYONE
    await say(session, "The bell!")
    await session.end_chapter()
    await session.wait_idle()
    await session.wait(await session.build_narrative())
    await session.wait_idle()
    for call in await session.reads.artifacts():
        manifest = json.loads((await session.reads.contents([call.input_ref]))[call.input_ref])
        texts = await session.reads.contents([part for _, _, part in manifest])
        has_lore = any("A crack in it." in text for text in texts.values())
        assert has_lore is (call.agent_id == RED), call.agent_id
    await session.aclose()


async def test_the_book_on_a_card_is_for_its_character_alone(store: PostgresStore) -> None:
    engine = engine_on(store)
    entries = [{"keys": ["lamp"], "content": "{{char}} lit it.", "enabled": True, "insertion_order": 1}]
    card = {**V2, "data": {**V2["data"], "character_book": {"entries": entries, "extensions": {}}}}
    kara = (await engine.library.characters.import_card(text_of(card), "kara.json")).character
    profiles = {ORANGE: kara.profile, YELLOW: Profile(short_description="By hand.")}
    session = await begun(engine, profiles)
    snapshot = session.snapshot
    [copy] = await engine.library.lore.copies_in_cards(snapshot.session, snapshot.tab1.profiles)
    await session.edits.attach_lore(copy)
    await session.wait(await session.lock())
    [book] = session.snapshot.lore
    assert (book.name, book.owner, book.label) == ("Joss (card)", ORANGE, Audience.of((ORANGE,)))
    assert "Joss lit it." in await lore_given(engine, session.id, "The lamp?", ORANGE)
    assert not await lore_given(engine, session.id, "The lamp?", RED)
    assert from_json(await engine.export(session.id)).lore == (book,)
    await session.aclose()


async def test_a_group_that_no_line_can_show_is_refused_and_one_of_before_stays(store: PostgresStore) -> None:
    engine = engine_on(store)
    lore = engine.library.lore
    book = await kept(engine, entry("lamp"))
    with pytest.raises(IllegalCommandError, match="The name of a group has no semicolon"):
        await lore.save(replace(book, groups=("Crew, old",)))
    file = await lore.read(book)
    with pytest.raises(IllegalCommandError, match="The name of a group has no semicolon"):
        await lore.edit(replace(book, groups=("Crew; old",)), file, replace(file.book, token_budget=5))
    await store.library.put_lorebook(replace(book, groups=("Crew, old",)))
    stored = await lore.by_id(book.id)
    edited, _ = await lore.edit(stored, file, replace(file.book, token_budget=5))
    assert edited.groups == ("Crew, old",)
    assert (await lore.save(replace(edited, groups=("Crew, old", "Guests")))).groups[0] == "Crew, old"


async def test_a_character_gets_no_new_group_that_no_line_can_show(store: PostgresStore) -> None:
    characters = engine_on(store).library.characters
    mira = await characters.create("Mira", profile=Profile(group="Crew, old"))
    assert (await characters.save(replace(mira, version=mira.version, is_static=True))).group == "Crew, old"
    [stored] = [one for one in await characters.listed() if one.id == mira.id]
    with pytest.raises(IllegalCommandError, match="The name of a group has no semicolon"):
        await characters.save(replace(stored, groups_visible=("A;B",)))
