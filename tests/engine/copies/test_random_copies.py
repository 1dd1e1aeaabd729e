"""After random changes of canon a window knows what is stored, and every copy of the chapter holds."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import fields
from random import Random
from typing import Final

import pytest

from core.domain.audience import Audience
from core.domain.errors import IllegalCommandError
from core.domain.ids import SessionId
from core.domain.slot import Slot
from core.domain.story.context_status import ContextStatus
from core.domain.story.memory import BlockType
from core.domain.story.secret import Secret
from core.engine.engine import Engine
from core.engine.services.takes.memory_commands import LockMark
from core.engine.session.session_handle import SessionHandle
from core.exchange.session_copy import as_new_session
from core.exchange.session_export import from_json, read_body, to_json
from core.storage.session_store import SessionStore
from db.store import PostgresStore, open_store
from tests.engine.windows import chapter, done, engine_on
from tests.store.servers import cloned

pytestmark = pytest.mark.anyio

RUNS: Final = int(os.environ.get("STORYENGINE_RANDOM_RUNS", "0"))
"""How many chapters `make torture` wants."""
SEED: Final = int(os.environ.get("STORYENGINE_RANDOM_SEED", "0"))
STEPS: Final = 60 if RUNS else 24
COPIED_EVERY: Final = 6
"""Steps from one save slot to the next."""
CAST: Final = (Slot.RED, Slot.ORANGE, Slot.YELLOW)
SECRETS: Final = (1, 2, 3)
READ_LATER: Final = {"lore_books", "lore_uses", "blocks", "is_memory_known", "is_recent_known"}
"""Fields of a snapshot that a plain read leaves out."""
RECENT: Final = {"recent", "kept", "undone", "takes"}

Step = Callable[[], Awaitable[object]]


class RandomCanon:
    """Changes the canon of an open chapter in ways that a seed draws."""

    def __init__(self, session: SessionHandle, store: SessionStore, draw: Random) -> None:
        self._session = session
        self._store = store
        self._draw = draw
        self._number = 0
        self.log: list[str] = []
        """The steps so far, in order; what was refused is marked."""
        play: dict[str, Step] = {"say": self._say, "whisper": self._whisper, "line": self._line}
        takes = session.takes
        self._steps: dict[str, Step] = {
            **play,
            "reveal": self._reveal,
            "mark": self._mark,
            "undo": takes.undo,
            "redo": takes.redo,
            "reroll": self._reroll,
            "choose": self._choose,
            "correct": lambda: takes.correct_reply(f"corrected {self._number}"),
            "pin": lambda: takes.mark_lock(f"lock {self._number % 3}", draw.choice(list(LockMark))),
            "scene": lambda: session.scene.begin_scene(f"scene {self._number}"),
            "rebuild": self._rebuild,
        }
        if session.snapshot.session.keeps_bank:
            self._steps |= dict.fromkeys(("bank", "bank again", "bank once more"), self._change_bank)
        self._names = [*self._steps, *(3 * [*play]), "undo", "redo"]

    async def step(self) -> None:
        """Do one thing, which the chapter may refuse as it is, and wait until nothing runs."""
        name = self._draw.choice(self._names)
        self._number += 1
        try:
            await self._steps[name]()
        except IllegalCommandError:
            name = f"({name})"
        self.log.append(name)
        await self._session.wait_idle()
        await self._session.keeping.wait_until_read()

    async def _say(self) -> None:
        await done(self._session, await self._session.submit_prompt(self._slot(), f"said {self._number}"))

    async def _whisper(self) -> None:
        slot = self._slot()
        heard_by = Audience.of([slot])
        text = f"whispered {self._number}"
        await done(self._session, await self._session.submit_prompt(slot, text, heard_by=heard_by))

    async def _line(self) -> None:
        hearers = [self._slot()] if self._draw.random() < 0.5 else []
        await self._session.scene.narrate(f"line {self._number}", hearers=hearers)

    async def _reveal(self) -> None:
        await self._session.scene.reveal(self._draw.choice(SECRETS), [self._slot()])

    async def _mark(self) -> None:
        events = list(await self._store.log(self._session.id))
        chosen = self._draw.sample(events, min(2, len(events)))
        await self._session.scene.set_status(chosen, self._draw.choice(list(ContextStatus)))

    async def _reroll(self) -> None:
        await done(self._session, await self._session.takes.reroll())

    async def _choose(self) -> None:
        if listed := await self._session.takes.listed():
            await self._session.takes.choose(self._draw.choice(listed)[0].take)

    async def _rebuild(self) -> None:
        blocks = await self._store.blocks(self._session.id)
        if deltas := [one.last for one in blocks if one.type is BlockType.TURN_DELTA and one.ordinal == 0]:
            await done(self._session, await self._session.takes.rebuild_block(self._draw.choice(deltas)))

    async def _change_bank(self) -> None:
        bank = self._session.bank
        items = list(await bank.items())
        chosen = self._draw.sample(items, min(2, len(items)))
        change = self._draw.choice([bank.pin, bank.confirm, bank.reject, bank.merge, None])
        await (bank.undo() if change is None else change(chosen))

    def _slot(self) -> Slot:
        return self._draw.choice(CAST)


async def assert_known(session: SessionHandle, store: SessionStore, log: list[str]) -> None:
    """The snapshot of the window is what is stored."""
    known = session.snapshot
    stored = await store.load(session.id, recent_prompts=known.recent_prompts)
    left_out = READ_LATER if known.is_recent_known else READ_LATER | RECENT
    for field in fields(known):
        if field.name not in left_out:
            assert getattr(known, field.name) == getattr(stored, field.name), (field.name, log)
    if known.is_memory_known:
        assert list(known.blocks) == list(await store.memory(session.id)), log


async def assert_copies_hold(
    session: SessionHandle, engine: Engine, elsewhere: Engine, draw: Random, log: list[str]
) -> None:
    """Save slots, a branch and an export of the chapter are whole, and give characters the same inputs."""
    save_points, store = engine.save_points, engine._store
    inputs = await inputs_of(engine, session.id)
    newest = await save_points.keep(session.id, f"after {len(log)}")
    assert not await save_points.damages(session.id), log
    slot = draw.choice(list(await save_points.listed(session.id)))
    restored = await save_points.restore(session.id, slot.number)
    assert not await save_points.damages(restored), log
    for copied in (restored, session.id):
        body = await read_body(store, copied)
        assert from_json(to_json(body)) == body, log
    assert await inputs_of(engine, await save_points.restore(session.id, newest.number)) == inputs, log
    await save_points.drop(session.id, newest.number)
    if last := session.snapshot.session.prompt_index:
        await engine.branch(session.id, draw.randint(1, last))
        assert await inputs_of(engine, await engine.branch(session.id, last)) == inputs, log
    imported = await elsewhere.import_body(body, is_trusted=True)
    again = await read_body(elsewhere._store, imported)
    assert as_new_session(again, imported) == as_new_session(body, imported), log
    assert await inputs_of(elsewhere, imported) == inputs, log
    await elsewhere.archive(imported)
    await elsewhere.purge(imported)


async def inputs_of(engine: Engine, session_id: SessionId) -> list[list[str]]:
    """Return the lines that each character is given next, in any order.

    What an undone prompt recalled fades later in the chapter itself, and may come sooner there.
    """
    inputs = [await engine.preview(session_id, slot, "What of the lamp, and what was said?") for slot in CAST]
    return [sorted(line for one in each.messages for line in one.content.splitlines()) for each in inputs]


@pytest.fixture
async def elsewhere(private_template: str) -> AsyncIterator[Engine]:
    """An engine on a database with no chapter in it."""
    for url in cloned(private_template):
        async with aclosing(await open_store(url)) as opened:
            yield engine_on(opened)


@pytest.mark.parametrize("seed", range(SEED, SEED + (RUNS or 2)))
async def test_a_window_knows_what_is_stored_and_every_copy_is_whole(
    store: PostgresStore, elsewhere: Engine, seed: int, without_auto_saves: None
) -> None:
    draw = Random(seed)
    async with chapter(store, chunk_size=draw.choice([1, 2, 3]), within=10 * STEPS) as session:
        await session.scene.edit_secrets(
            [Secret(number=number, text=f"secret {number}", known_by=Audience.of([])) for number in SECRETS]
        )
        await session.keeping.keep(is_on=seed % 2 == 0)
        canon, engine = RandomCanon(session, store, draw), engine_on(store)
        for number in range(STEPS):
            await canon.step()
            if draw.random() < 0.5:
                await session._writer.know_memory()
            await assert_known(session, store, canon.log)
            if number % COPIED_EVERY == COPIED_EVERY - 1:
                await assert_copies_hold(session, engine, elsewhere, draw, canon.log)
        assert sum(not name.startswith("(") for name in canon.log) > STEPS / 2, "most of it was allowed"
