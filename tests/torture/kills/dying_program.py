"""The real program, killed at a step: `python -m tests.torture.kills.dying_program ORDERS -- ARGUMENTS`.

The product knows nothing of this. Around its own seams (store, locks, migration, provider, backup) every step
is announced, and where the orders say so, the program, the server or both get SIGKILL.
"""

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from core.config.models.accounts import OWN
from core.providers.base import Completion, ModelRequest, ProviderError, TextDelta
from core.providers.scripted.provider import ScriptedProvider
from core.storage.changes import Changes
from db.embedded.machine.probe import server_processes
from db.embedded.state import ServerState
from tests.torture.kills.commit_names import KeptNames, commit_name
from tests.torture.kills.confirmed_texts import confirm_texts
from tests.torture.kills.kill_orders import Orders, Point, Victim, append

SHORTENED = "characters left out"
"""Part of the note in a text that was shortened to its room."""
ONE_PLACE = "TORTURE_ONE_PLACE"
"""The variable that has the script take one call at a time."""
ACCOUNT = "script"
"""The account of its places."""
_OF_SCHEMAS = {
    "world_chapter_lock": "lock",
    "turn_delta": "summary",
    "afterthought": "decision",
    "heartbeat": "heartbeat",
    "gaps": "gaps",
    "changes": "ceremony",
    "condense": "condense",
    "bank_scan": "scan",
    "bank_match": "match",
    "bank_update": "update",
}
_PROPOSES = "You help a human Game Master (GM) of Story Engine with one text of their own"
"""How the prompt begins for a proposal."""
_ADDS = "Your character adds something of its own accord"
"""Part of what asks a character for an addition."""
LONGEST_RUN = 0.06
"""Seconds that a program of PostgreSQL's client runs at most, when something is killed in its midst."""


class Reaper:
    """Kills at the steps that it was told."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._points = list(orders.points)
        self.most_turns = orders.most_turns
        self.random = random.Random(orders.seed)
        self.deltas = 0
        """How many deltas were stored of a chunk that gets several."""
        self.is_further = False
        """Whether a character answers after another one."""

    def reach(self, step: str) -> None:
        """Say that a step is reached; may not return."""
        if self._orders.names_steps:
            append(self._orders.report, {"step": step})
        for point in self._points:
            if point.step == step:
                self._points.remove(point)
                self._kill(point)
                return

    def count_call(self, kind: str) -> None:
        """Note that a model is asked, and has to be paid."""
        append(self._orders.report, {"call": kind})

    def confirm(self, *texts: str | None) -> None:
        """Note what the engine said is stored."""
        for text in texts:
            if text:
                append(self._orders.report, {"text": text.strip()})

    def _kill(self, point: Point) -> None:
        append(self._orders.report, {"kill": point.step, "victim": point.victim})
        if point.victim is not Victim.PROGRAM:
            kill_server(self._orders.home, with_supervisor=point.victim is Victim.ALL)
        if point.victim is not Victim.POSTGRES:
            os.kill(os.getpid(), signal.SIGKILL)


def kill_server(home: Path, *, with_supervisor: bool) -> None:
    """Kill every process of the private server, and who would start it again."""
    state = ServerState.read(home)
    if with_supervisor and state.supervisor:
        with suppress(ProcessLookupError):
            os.kill(state.supervisor, signal.SIGKILL)
    for pid in server_processes(Path(state.data)) if state.data else []:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


class Seams:
    """Puts the reaper around the product's own functions."""

    def __init__(self, reaper: Reaper) -> None:
        self._reaper = reaper

    def around(self, owner: Any, name: str, step: str | Callable[..., str]) -> None:
        """Announce before, under way and after a coroutine function."""
        behind = getattr(owner, name)
        reaper = self._reaper

        async def announced(*arguments: Any, **options: Any) -> Any:
            title = step if isinstance(step, str) else step(*arguments, **options)
            reaper.reach(f"{title}: before")
            task = asyncio.ensure_future(behind(*arguments, **options))
            try:
                for _ in range(reaper.random.randint(1, reaper.most_turns)):
                    await asyncio.sleep(0)
                if not task.done():
                    reaper.reach(f"{title}: under way")
                result = await task
            except BaseException:  # cancelled: what was called ends with its caller
                task.cancel()
                raise
            reaper.reach(f"{title}: after")
            return result

        setattr(owner, name, announced)

    def around_plain(self, owner: Any, name: str, step: str) -> None:
        """Announce before and after a plain function."""
        behind = getattr(owner, name)
        reaper = self._reaper

        def announced(*arguments: Any, **options: Any) -> Any:
            reaper.reach(f"{step}: before")
            result = behind(*arguments, **options)
            reaper.reach(f"{step}: after")
            return result

        setattr(owner, name, announced)

    def confirming(self, owner: Any, name: str, texts: Callable[..., list[str | None]]) -> None:
        """Note the GM's texts once a command has returned: from then on they must never be gone."""
        behind = getattr(owner, name)
        reaper = self._reaper

        async def confirmed(*arguments: Any, **options: Any) -> Any:
            result = await behind(*arguments, **options)
            reaper.confirm(*texts(*arguments, **options))
            return result

        setattr(owner, name, confirmed)


def install(reaper: Reaper) -> None:
    """Announce every step at which the outside world can stop."""
    import core.exchange.chapter_file
    import db.store
    import db.writes.commit_connection
    import db.writes.writer_lock
    from db.embedded.server import EmbeddedServer
    from db.parts.chapters import PostgresChapters
    from db.parts.queue import PostgresQueue
    from db.parts.save_points import PostgresSavePoints
    from db.store import PostgresStore
    from db.writes.unstored import UnstoredCommits

    seams = Seams(reaper)
    seams.around_plain(EmbeddedServer, "acquire", "server wanted")
    seams.around_plain(EmbeddedServer, "release", "server let go")
    seams.around(db.store, "refuse_transaction_pooler", "first connection")
    seams.around(db.writes.commit_connection, "open_connection", "pen connects")
    seams.around(db.writes.writer_lock, "open_connection", "lock connects")
    seams.around(PostgresChapters, "create", "session created")
    seams.around(PostgresChapters, "find_script", "session looked for")
    seams.around(PostgresChapters, "find_or_create", "session of the script found or created")
    seams.around(PostgresStore, "acquire", "writer's lock taken")
    seams.around(PostgresStore, "load", "session loaded")
    seams.around(PostgresStore, "memory", "memory loaded")
    seams.around(PostgresStore, "revisions", "revisions read")
    seams.around(PostgresStore, "commit", lambda _, changes, lease: _announced(reaper, changes))
    seams.around(PostgresSavePoints, "put", "save slot stored")
    seams.around(PostgresSavePoints, "delete", "save slot let go")
    seams.around(PostgresChapters, "archive", "chapter archived or restored")
    seams.around(PostgresChapters, "purge", "chapter purged")
    seams.around(UnstoredCommits, "keep", KeptNames())
    seams.around(PostgresQueue, "set_paused", _turned)
    seams.around(PostgresQueue, "take_place", "place taken")
    seams.around(PostgresQueue, "leave_place", "place left")
    seams.around(db.writes.writer_lock.WriterLease, "aclose", "writer's lock given back")
    seams.around_plain(core.exchange.chapter_file, "write_new", "chapter file written")
    seams.around_plain(core.exchange.chapter_file, "move_to_free_name", "chapter file named")
    confirm_texts(seams)
    _install_library(seams)
    _install_bank(reaper, seams)
    _install_streams(reaper)
    _install_migration(reaper, seams)
    _install_backup(reaper, seams)


def _install_library(seams: Seams) -> None:
    """Announce what is stored in the library, and within its transaction the rows that come first."""
    import db.library.library_store
    from db.library.library_store import PostgresLibrary

    for what in ("character", "lorebook", "book"):
        seams.around(PostgresLibrary, f"put_{what}", f"library: {what} stored")
        seams.around(PostgresLibrary, f"purge_{what}", f"library: {what} purged")
    seams.around(PostgresLibrary, "settle_proposals", "library: proposals settled")
    seams.around(db.library.library_store, "_put", "library: its row written")
    seams.around(db.library.library_store, "_create", "library: its chapter written")


def _install_bank(reaper: Reaper, seams: Seams) -> None:
    """Announce what is stored of a memory bank beside the commits of its chapter, and calls for vectors."""
    from core.providers.embedding.scripted import ScriptedEmbedder
    from db.bank.bank_store import PostgresBank

    def called(*_: object, **__: object) -> str:
        reaper.count_call("vectors")
        return "vectors asked for"

    seams.around(ScriptedEmbedder, "embed", called)
    seams.around(PostgresBank, "put_vectors", "vectors stored")
    seams.around(PostgresBank, "put_piece_vectors", "vectors of texts stored")
    seams.around(PostgresBank, "put", "items changed")


def _turned(_: object, *, is_paused: bool) -> str:
    return "queue paused" if is_paused else "queue resumed"


def _announced(reaper: Reaper, changes: Changes) -> str:
    """Name a commit, and note what tells the streams apart that come after it."""
    name = commit_name(changes)
    if changes.revisions or changes.blocks:
        reaper.deltas = 0 if changes.blocks else changes.revisions[0].ordinal + 1
    if "reply" in name:
        reaper.is_further = name == "further reply begun"
    return name


def _install_streams(reaper: Reaper) -> None:
    """Announce the parts of every stream: asked, the first piece, the middle, the last."""
    behind = ScriptedProvider.stream

    async def stream(
        self: ScriptedProvider, request: ModelRequest
    ) -> AsyncGenerator[TextDelta | Completion, None]:
        name = _stream_name(request)
        reaper.count_call(name.removeprefix("shortened "))
        if reaper.is_further and "reply" in name:
            name = f"further {name}"
        if reaper.deltas:
            name = f"{name} after delta {reaper.deltas}"
        reaper.reach(f"{name} asked for")
        items: list[TextDelta | Completion] = []
        broken: ProviderError | None = None
        try:
            async for item in behind(self, request):
                items.append(item)
        except ProviderError as error:
            broken = error  # what came before it has arrived
        for number, item in enumerate(items):
            if isinstance(item, Completion):
                reaper.reach(f"{name} streams: all text came")
            yield item
            await asyncio.sleep(0)
            if number == 0:
                reaper.reach(f"{name} streams: first piece came")
            elif number == len(items) // 2:
                reaper.reach(f"{name} streams: half of it came")
        if broken is not None:
            raise broken

    ScriptedProvider.stream = stream  # type: ignore[method-assign]  # to die in the middle


def _stream_name(request: ModelRequest) -> str:
    if request.schema is not None:
        return _OF_SCHEMAS[request.schema.name]
    if any(_PROPOSES in message.content for message in request.messages):
        return "proposal"
    if _ADDS in request.messages[-1].content:
        return "addition"
    if "gpt" in request.model:
        return "narrative"
    return "shortened reply" if any(SHORTENED in message.content for message in request.messages) else "reply"


def _install_migration(reaper: Reaper, seams: Seams) -> None:
    from alembic import op

    import db.schema.migrate
    import db.store

    seams.around(db.store, "upgrade", "schema checked")
    seams.around(db.schema.migrate, "_wait_for_turn", "migration's turn")
    behind, execute = db.schema.migrate._run_alembic, op.execute

    def run(connection: Any) -> None:
        count = 0

        def announced(*arguments: Any, **options: Any) -> None:
            nonlocal count
            count += 1
            execute(*arguments, **options)
            if count % 5 == 1:
                reaper.reach(f"migration: {count} statements done")

        op.execute = announced
        reaper.reach("migration: before")
        behind(connection)
        reaper.reach("migration: done, not committed")

    db.schema.migrate._run_alembic = run


def _install_backup(reaper: Reaper, seams: Seams) -> None:
    import db.backups.client_programs
    import db.backups.dump

    behind = db.backups.client_programs.run

    async def run(name: str, *arguments: Any, **options: Any) -> str:
        reaper.reach(f"{name}: before")
        task = asyncio.create_task(behind(name, *arguments, **options))
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(task), reaper.random.uniform(0, LONGEST_RUN))
        if not task.done():
            reaper.reach(f"{name}: under way")
        output = await task
        reaper.reach(f"{name}: after")
        return output

    db.backups.client_programs.run = run
    for name, step in (("_flush", "backup flushed"), ("move_to_free_name", "backup named")):
        seams.around_plain(db.backups.dump, name, step)
    seams.around(db.backups.dump, "upgrade", "restored schema brought up to date")


def _hasten() -> None:
    """Ask at once whether a character adds something; the next time is out of reach."""
    import core.engine.services.speaking.afterthoughts

    core.engine.services.speaking.afterthoughts.TIMERS = (0, *(3_600,) * 4)  # type: ignore[misc]


def _install_place() -> None:
    """Let the script take one call at a time over all windows, as an account with a limit does."""
    from core.engine.engine import Engine
    from core.gateway.places import Places

    behind = Engine.__init__

    def made(self: Engine, *arguments: Any, **options: Any) -> None:
        behind(self, *arguments, **options)
        lane = self._gateway._lanes[OWN]
        lane._most, lane._places = 1, Places(1)
        lane.share(ACCOUNT, self._store.queue)
        self._lanes = {**self._lanes, ACCOUNT: lane}

    Engine.__init__ = made  # type: ignore[method-assign]  # settings have no such account of a script


def main() -> None:
    """Run the program's own command line."""
    orders = Orders.read(Path(sys.argv[1]))
    from core.engine.scripts.player import ScriptPlayer
    from storyengine_tui.cli import main as run_program
    from storyengine_tui.cli.app import app
    from storyengine_tui.cli.running import command
    from tests.torture.operations.operations import operation

    install(Reaper(orders))
    _hasten()
    if os.environ.get(ONE_PLACE):
        _install_place()
    command(app)(operation)
    # A call that failed for a passing reason is tried again at once.
    (ScriptPlayer.__init__.__kwdefaults__ or {})["retry_wait"] = 0.01
    sys.argv = ["storyengine", *sys.argv[3:]]
    run_program()


if __name__ == "__main__":
    main()
