"""Lorebooks in files, and a chapter that is played with them."""

import json
from typing import Any
from uuid import uuid4

from core.config.models.assignments import defaults_for
from core.context.lore import NOTE_ROLE
from core.domain.ids import SessionId
from core.domain.session.profile import Profile
from core.domain.slot import Slot
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from core.library.lore.kept import KeptLorebook
from core.providers.scripted.provider import ScriptedProvider
from core.storage.session_store import SessionStore

NAMES = {Slot.RED: "Mira", Slot.ORANGE: "Joss", Slot.YELLOW: "Rook"}


def world_info(*entries: dict[str, Any]) -> bytes:
    """A file of SillyTavern with these entries; each file is another one."""
    numbered = {str(number): {"uid": number, **entry} for number, entry in enumerate(entries)}
    return json.dumps({"entries": numbered, "made_for": uuid4().hex}).encode()


def entry(key: str, content: str = "", **fields: Any) -> dict[str, Any]:
    return {"key": [key], "content": content or f"Of {key}.", "comment": key, **fields}


def engine_on(store: SessionStore) -> Engine:
    return Engine(store, ScriptedProvider(), defaults_for("scripted"), label="here")


async def kept(engine: Engine, *entries: dict[str, Any], groups: tuple[str, ...] = ()) -> KeptLorebook:
    """Keep a lorebook in the library, under a name of its own."""
    made = await engine.library.lore.import_lore(world_info(*entries), f"harbour-{uuid4().hex}.json")
    [stored] = [one for one in await engine.library.lore.listed() if one.id == made.book.id]
    if not groups:
        return stored
    await engine.library.lore.save(KeptLorebook(**{**_fields(stored), "groups": groups}))
    return await engine.library.lore.find(stored.name)


def _fields(book: KeptLorebook) -> dict[str, Any]:
    return {name: getattr(book, name) for name in book.__dataclass_fields__}


async def begun(engine: Engine, profiles: dict[Slot, Profile] | None = None) -> SessionHandle:
    """A chapter that is not locked yet, open."""
    session = await engine.open(await engine.create())
    await session.edits.edit_tab1(
        Tab1Edit(world="A sea of glass.", chapter="The lamp is out.", names=NAMES, profiles=profiles or {})
    )
    return session


async def locked(engine: Engine, *books: KeptLorebook, **more: Any) -> SessionHandle:
    """A chapter that is locked, with these lorebooks."""
    session = await begun(engine, **more)
    for book in books:
        await session.edits.attach_lore(await engine.library.lore.copy_of(book))
    await session.wait(await session.lock())
    return session


async def say(session: SessionHandle, text: str, slot: Slot = Slot.RED) -> None:
    await session.wait(await session.submit_prompt(slot, text))
    await session.wait_idle()


async def lore_given(engine: Engine, session_id: SessionId, text: str, slot: Slot = Slot.RED) -> str:
    """Return the lore in the next input of a character."""
    context = await engine.preview(session_id, slot, text)
    return next((one.text for one in context.segments if one.name == "LORE"), "")


async def inputs_of(session: SessionHandle) -> list[list[str]]:
    """Return the texts of every input of a character that was sent, oldest first."""
    found = []
    for call in await session.reads.artifacts():
        if call.agent_id in tuple(NAMES):
            manifest = json.loads((await session.reads.contents([call.input_ref]))[call.input_ref])
            sent = [part for role, _, part in manifest if role != NOTE_ROLE]
            texts = await session.reads.contents(sent)
            found.append([texts[part] for part in sent])
    return found
