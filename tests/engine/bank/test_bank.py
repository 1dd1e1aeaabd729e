"""A chapter that keeps a memory bank, on PostgreSQL: switched on, by a script, from chapter to chapter."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from core.domain.bank.details import Aspect, FactDetails, StateDetails
from core.domain.errors import SessionLockedError
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import RequestState
from core.domain.session.language import Language
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.scripts.player import ScriptPlayer
from core.engine.services.bank.bank import Bank
from core.engine.services.bank.item_changes import NewItem
from core.exchange.scripts.chapter_script import ChapterScriptError, parse_chapter_script
from core.providers.scripted.script import Entry, ScriptMatch
from db.store import PostgresStore
from tests.core.rooms.bank_room import SAID, extractions, fact, items, read, scan
from tests.engine.windows import chapter, done, engine_on, play, scripted, window

pytestmark = pytest.mark.anyio
REPLIES = Entry(match=ScriptMatch(schema="text"), text=SAID)
WOUND = {
    **fact("My left arm bleeds", name="Left arm", text="Her left arm bleeds."),
    "who": "Kara",
    "aspect": "wound",
    "other": "",
    "is_over": False,
}
SCRIPT = """
world = "A sea of glass."
chapter = "The lamp is out."
bank = true
[[agent]]
name = "Kara"
[[prompt]]
text = "Who is there?"
[[prompt]]
text = "And now?"
"""


async def test_a_script_that_keeps_a_bank_ends_once_its_play_is_read(store: PostgresStore) -> None:
    async with window(store, scripted(scan(states=[WOUND]), REPLIES)) as session:
        await ScriptPlayer(session, parse_chapter_script(SCRIPT), lambda _: None, retry_wait=0.0).play()
        [request] = await extractions(session)
        assert (request.state, request.prompts) == (RequestState.DONE, PromptRange(1, 2))
        [wound] = await items(session)
        assert (wound.about, wound.details) == (Slot.RED, StateDetails(aspect=Aspect.WOUND))


def test_a_script_says_whether_a_bank_is_kept_with_true_or_false() -> None:
    assert parse_chapter_script(SCRIPT).keeps_bank is True
    assert parse_chapter_script(SCRIPT.replace("bank = true", "bank = false")).keeps_bank is False
    assert parse_chapter_script(SCRIPT.replace("bank = true", "")).keeps_bank is None
    with pytest.raises(ChapterScriptError, match="bank must be true or false"):
        parse_chapter_script(SCRIPT.replace("bank = true", 'bank = "yes"'))


async def test_a_script_says_in_which_language_the_story_is_told(store: PostgresStore) -> None:
    german = parse_chapter_script(SCRIPT.replace("bank = true", 'language = "German"'))
    assert (german.language, parse_chapter_script(SCRIPT).language) == (Language.GERMAN, None)
    for stated in ('"klingon"', "7", "[]"):
        with pytest.raises(ChapterScriptError, match=r"language must be one of arabic, .* german, .*yiddish"):
            parse_chapter_script(SCRIPT.replace("bank = true", f"language = {stated}"))
    async with window(store, scripted(REPLIES)) as session:
        await ScriptPlayer(session, german, lambda _: None, retry_wait=0.0).play()
        assert session.snapshot.session.language is Language.GERMAN
        # A script that does not say leaves it as it is.
        plain = parse_chapter_script(SCRIPT.replace("bank = true", ""))
        await ScriptPlayer(session, plain, lambda _: None, retry_wait=0.0).play()
        assert session.snapshot.session.language is Language.GERMAN


async def test_a_chapter_that_is_not_open_is_switched_on_and_read_when_it_is_opened(
    store: PostgresStore,
) -> None:
    model = scripted(scan(facts=[fact()]), REPLIES)
    async with chapter(store, model, chunk_size=3) as session:
        await play(session, 4)
    engine = engine_on(store, model)
    await engine.closed(session.id).keep_bank(is_on=True)
    async with window(store, model, session.id) as session:
        await read(session)
        assert [one.prompts for one in await extractions(session)] == [PromptRange(1, 3)]
        assert len(await items(session)) == 1
    await engine.closed(session.id).keep_bank(is_on=False)
    assert not (await store.load(session.id)).session.keeps_bank
    await engine.closed(session.id).keep_bank(is_on=True)
    assert not (await store.load(session.id)).background


async def test_the_next_chapter_keeps_a_bank_too_and_its_cast_has_its_sheets(store: PostgresStore) -> None:
    engine = engine_on(store, scripted(scan(states=[WOUND]), REPLIES))
    session = await engine.open(await engine.create())
    names = {Slot.RED: "Kara", Slot.ORANGE: "Joss"}
    await session.edits.edit_tab1(
        Tab1Edit(world="Glass.", chapter="The lamp.", names=names, character_count=2)
    )
    await session.keeping.keep(is_on=True)
    await session.keeping.set_language(Language.DANISH)
    await done(session, await session.lock())
    await done(session, await session.submit_prompt(Slot.RED, "Who is there?"))
    await session.end_chapter()
    await read(session)
    assert session.snapshot.session.state is SessionState.ENDED
    await session.aclose()
    second = await engine.library.books.next_chapter(session.id)
    assert (await store.load(second)).session.keeps_bank
    assert (await store.load(second)).session.language is Language.DANISH
    following = await engine.open(second)
    swapped = {Slot.RED: "Joss", Slot.ORANGE: "Kara"}
    await following.edits.edit_tab1(Tab1Edit(chapter="The wind.", names=swapped))
    await done(following, await following.lock())
    await following.aclose()
    kara = await engine.preview(second, Slot.ORANGE, "And now?")
    joss = await engine.preview(second, Slot.RED, "And now?")
    assert "- wound: Her left arm bleeds. (chapter 1, prompt 1)" in kara.messages[-1].content
    assert "CHARACTER_SHEET" not in joss.messages[-1].content


async def test_an_input_has_the_same_bytes_without_a_bank_as_with_an_empty_one(store: PostgresStore) -> None:
    model = scripted(scan(), REPLIES)
    inputs: list[list[str]] = []
    for keeps in (False, True):
        async with chapter(store, model, chunk_size=3) as session:
            await session.keeping.keep(is_on=keeps)
            await play(session, 4)
            await read(session)
            calls = [one for one in await session.reads.artifacts() if one.agent_id == 1]
            inputs.append([(await session.reads.contents([one.input_ref]))[one.input_ref] for one in calls])
            assert bool(await extractions(session)) is keeps
    assert inputs[0]
    assert inputs[0] == inputs[1]


async def test_a_chapter_without_a_bank_asks_the_database_nothing_about_one(
    store: PostgresStore, sent: list[str]
) -> None:
    async with chapter(store, chunk_size=3) as session:
        await play(session, 7)
        await session.wait_idle()
        await session.takes.undo()
        await session.takes.redo()
    async with window(store, session_id=session.id) as session:
        await play(session, 1)
    assert sent
    assert not [one for one in sent if "bank_" in one]


async def test_a_window_that_only_reads_changes_no_item_nor_does_a_command_meanwhile(
    store: PostgresStore,
) -> None:
    async with chapter(store) as session:
        await session.keeping.keep(is_on=True)
        await play(session, 1)
        here, said = session.snapshot.session, (await session.reads.canon())[1]
        item = await session.bank.add(here, NewItem("The inn", "A cellar.", FactDetails()))
        async with window(store, None, session.id, label="second window") as reader:
            changes: list[Callable[[Bank], Awaitable[object]]] = [
                lambda bank: bank.confirm([item], is_on=False),
                lambda bank: bank.reject([item]),
                lambda bank: bank.edit(item, replace(item, text="Two cellars.")),
                lambda bank: bank.add(here, NewItem("A rule", "No magic.", FactDetails())),
                lambda bank: bank.quote(here, said, said.text),
                lambda bank: bank.undo(),
            ]
            for bank in (reader.bank, engine_on(store, label="a command").closed(session.id).bank):
                for change in changes:
                    with pytest.raises(SessionLockedError):
                        await change(bank)
            assert list(await reader.bank.items(with_all=True)) == [item]
        await session.bank.undo()
    await engine_on(store).closed(session.id).bank.redo()
    assert [one.name for one in await store.bank.items(session.id)] == ["The inn"]
