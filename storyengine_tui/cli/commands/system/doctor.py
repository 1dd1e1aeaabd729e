"""`storyengine doctor`: checks everything that playing needs, and says how to fix what is wrong."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.text import Text

from core.config.files.paths import find_paths
from core.config.files.private_files import NotPrivateError, refuse_open
from core.config.models.accounts import Account, setting_of_account
from core.domain.agent_role import AgentRole
from core.domain.errors import StoryEngineError
from core.domain.requests.request import RequestState
from core.engine.queue.entries import QueueEntry
from core.engine.services.bank.words import failed_in_words
from core.text.numbers import counted
from storyengine_tui.bootstrap import (
    Configuration,
    configure,
    find_vector_extension,
    running_catalog,
    running_queue,
)
from storyengine_tui.cli.commands.system.queue import RESUME
from storyengine_tui.cli.exit_codes import ExitCode
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.printing import console, say, say_wrong, shown

_DAMAGED: Final = (
    "That was changed past the program, or the disk is damaged: keep a copy of it, and restore a backup."
)
TRY_AGAIN: Final = (
    "Open the chapter: what an outage ended is tried again. Else `storyengine queue retry CALL`; "
    "`storyengine queue list` names the calls."
)
_CONNECT_TIMEOUT = 5.0
"""Seconds to wait for a connection to a server of this machine."""
_EMBEDDING_TIMEOUT = 60.0
"""Seconds to wait for a vector of a model on this machine."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check; `fix` says what to do and is empty when all is well."""

    subject: str
    text: str
    fix: str = ""


async def doctor(
    verify: Annotated[
        bool, typer.Option("--verify", help="Check instead every hash and chain of all that is stored.")
    ] = False,
) -> None:
    """Check Python, data directory, database, schema, models and consent; say how to fix each."""
    is_well = True
    async for finding in _verify() if verify else _examine():
        is_well = is_well and not finding.fix
        mark = "fix " if finding.fix else "ok  "
        line = Text(shown(f"{mark}  {finding.subject}: {finding.text}"))
        line.stylize("red" if finding.fix else "green", 0, 4)
        console.print(line, soft_wrap=True)
        if finding.fix and not verify:
            say(f"      {finding.fix}")
    if not is_well and verify:
        say(f"      {_DAMAGED}")
    if not is_well:
        raise typer.Exit(ExitCode.REFUSED)


async def _examine() -> AsyncIterator[Finding]:
    yield _python()
    paths = find_paths()
    yield _directory("data directory", paths.data)
    yield _directory("configuration", paths.config, "the defaults hold until the first setting is changed")
    yield _directory("logs", paths.logs)
    try:
        configuration = configure()
    except NotPrivateError as error:
        # A directory is reported above already.
        if error.path not in (paths.data, paths.config, paths.logs):
            yield Finding("privacy", error.message, error.hint)
        return
    except StoryEngineError as error:
        yield Finding("settings", error.message, error.hint)
        return
    yield Finding("settings", f"profile {configuration.settings.profile}")
    async for finding in _database(configuration):
        yield finding
    async for finding in _models(configuration):
        yield finding
    yield await _attempt("embedding", _embedding(configuration))
    yield await _attempt("consent", _consent(configuration))


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if (3, 11) <= sys.version_info[:2] <= (3, 13):
        return Finding("Python", version)
    return Finding("Python", f"{version} is not supported", "Install Python 3.11, 3.12 or 3.13.")


def _directory(subject: str, path: Path, absent: str = "it is made at the first start") -> Finding:
    # Of `os`: unlike those of `Path` they do not raise for a place that cannot be reached.
    if not os.path.isdir(path):
        is_there = os.path.lexists(path)
        parent = next(ancestor for ancestor in path.parents if os.path.exists(ancestor))
        if not is_there and os.path.isdir(parent) and os.access(parent, os.W_OK | os.X_OK):
            return Finding(subject, f"{path} is not there yet; {absent}")
        return Finding(
            subject,
            f"{path} is not a directory" if is_there else f"{path} cannot be made",
            "Make one there, or name another with STORYENGINE_DATA_DIR or STORYENGINE_CONFIG_DIR.",
        )
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return Finding(subject, f"{path} cannot be written", f"Give yourself the right: chmod u+rwx {path}")
    try:
        refuse_open(path, "700")
    except NotPrivateError as error:
        return Finding(subject, error.message, error.hint)
    return Finding(subject, str(path))


async def _database(configuration: Configuration) -> AsyncIterator[Finding]:
    kind = "your server" if configuration.settings.database_url else "private server"
    try:
        async with running_queue(configuration) as (queue, catalog):
            count = len(await catalog.sessions())
            entries = await queue.entries()
            vectors = await find_vector_extension(configuration)
    except StoryEngineError as error:
        yield Finding("database", error.message, error.hint or "See the log in the data directory.")
        return
    yield Finding("database", f"{kind} runs, schema up to date, {counted(count, 'chapter')}")
    yield _pgvector(*vectors)
    if queue.is_paused:
        yield Finding("queue", "paused, nothing new begins", f"Let calls begin again: {RESUME}.")
    for finding in _gave_up(entries, shows_titles=configuration.gate is None):
        yield finding


def _gave_up(entries: Sequence[QueueEntry], *, shows_titles: bool) -> Iterator[Finding]:
    """Yield what failed for the memory bank of each chapter, and how much else used up its tries.

    A title may be words of the story, which a password guards: no one is asked for it here.
    """
    for session_id in dict.fromkeys(entry.request.session_id for entry in entries):
        own = [entry for entry in entries if entry.request.session_id == session_id]
        if failed := failed_in_words(entry.request for entry in own):
            chapter = f"“{own[0].session_title}”" if shows_titles else f"the chapter {session_id}"
            yield Finding("memory bank", f"of {chapter} {failed}", TRY_AGAIN)
    dead = sum(
        entry.request.state is RequestState.DEAD and not failed_in_words([entry.request]) for entry in entries
    )
    if dead:
        calls = counted(dead, "call has", "calls have")
        yield Finding("queue", f"{calls} used up all tries; `storyengine queue list` names them")


def _pgvector(offered: str, installed: str, can_be_made: bool) -> Finding:
    if installed:
        return Finding("pgvector", f"{installed} is in the database")
    if offered and not can_be_made:
        return Finding(
            "pgvector",
            f"{offered} is on the server, and not in the database; memories are searched by words alone "
            "until its administrator runs `CREATE EXTENSION vector` there",
        )
    if offered:
        return Finding("pgvector", f"{offered} is on the server, for the first vectors of a chapter")
    return Finding("pgvector", "it is not on the server; memories are searched by words alone")


async def _verify() -> AsyncIterator[Finding]:
    """Yield what does not hold of all that is stored, or one finding that all of it does."""
    async with running_catalog(await unlocked()) as catalog:
        found = catalog.verification(lambda next_: say_wrong(f"Checking {next_}"))
        is_whole = True
        async for fault in found.faults():
            is_whole = False
            yield Finding(fault.subject, fault.text, _DAMAGED)
        if is_whole:
            done = found.checked
            yield Finding(
                "library",
                f"every hash and chain holds; chapters: {done.chapters:,}, "
                f"characters: {done.characters:,}, lorebooks: {done.lorebooks:,}",
            )


async def _attempt(subject: str, check: Awaitable[Finding]) -> Finding:
    try:
        return await check
    except StoryEngineError as error:
        return Finding(subject, error.message, error.hint or "See the README, section “Models”.")


async def _models(configuration: Configuration) -> AsyncIterator[Finding]:
    """Check each account that answers an agent."""
    choices = configuration.choices
    of_agents = [choices[AgentRole.CHARACTER], *choices.values(), *choices.characters.values()]
    for name in choices.account_names:
        model = next(one.label for one in of_agents if one.account == name)
        yield await _attempt("model", _model(configuration, configuration.accounts.of(name), model))


async def _model(configuration: Configuration, account: Account, model: str) -> Finding:
    from core.providers.factory import make_provider
    from core.providers.local.provider import LocalProvider
    from core.providers.local.weights import find_weights

    if account.provider == "openai":
        return await _service("model", account, model)
    paths = configuration.paths
    provider = await asyncio.to_thread(make_provider, account, paths, configuration.choices)
    if not isinstance(provider, LocalProvider):
        return Finding("model", "replies come from a file; no model is called")
    try:
        await provider.start()  # which needs the right processor and the weights
        weights = await asyncio.to_thread(find_weights, paths, account.model_path)
    finally:
        await provider.aclose()
    return Finding("model", f"local, {weights.name}, starts")


async def _service(subject: str, account: Account, model: str) -> Finding:
    """Look for the key of a service, and connect to one of this machine; nothing is sent."""
    from core.config.consent import is_loopback
    from core.config.models.api_keys import find_api_key

    key, is_here = await asyncio.to_thread(find_api_key, account), is_loopback(account.base_url)
    if key is None and not is_here:
        command = f"storyengine model key {account.name}".rstrip()
        variable = setting_of_account(account.name, "api_key")
        wanted = f"Set {variable}, or store one with `{command}`."
        return Finding(subject, f"{model} {account.where} has no key", wanted)
    if is_here and not await _answers(account.base_url):
        return Finding(subject, f"nothing answers {account.where}", "Start the server there.")
    where = f"key from the {key.source}" if key else "no key needed"
    return Finding(subject, f"{model} {account.where}, {where}")


async def _embedding(configuration: Configuration) -> Finding:
    """Ask what makes vectors for one, unless it is elsewhere: nothing is sent for a check."""
    from core.providers.factory import make_embedder

    choice = configuration.embedding
    if choice is None:
        return Finding("embedding", "switched off; memories are searched by words alone")
    embedder = make_embedder(choice, configuration.paths)
    where = choice.account.where
    try:
        if not choice.is_set and not await embedder.is_here():
            return Finding(
                "embedding",
                "its weights are not here; memories are searched by words alone, until "
                f"`storyengine model fetch {embedder.model}` has fetched them",
            )
        if embedder.base_url is not None:
            return await _service("embedding", choice.account, embedder.model)
        made = await embedder.embed(["A lantern hangs in the hall."], _EMBEDDING_TIMEOUT)
    finally:
        await embedder.aclose()
    return Finding("embedding", f"{embedder.model} {where}, answers with {len(made.vectors[0]):,} numbers")


async def _answers(base_url: str) -> bool:
    """Return whether a server of this machine accepts a connection; other services are not asked."""
    from urllib.parse import urlsplit

    address = urlsplit(base_url)
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        async with asyncio.timeout(_CONNECT_TIMEOUT):
            _, writer = await asyncio.open_connection(address.hostname, port)
    except OSError:  # a time-out is one too
        return False
    writer.close()
    return True


async def _consent(configuration: Configuration) -> Finding:
    accounts = [configuration.accounts.of(name) for name in configuration.choices.account_names]
    accounts += [configuration.embedding.account] if configuration.embedding else []
    addresses = list(dict.fromkeys(one.base_url for one in accounts if one.provider == "openai"))
    if not addresses:
        return Finding("consent", "no text leaves this machine")
    for address in addresses:
        configuration.consent.check(address)
    return Finding("consent", f"text may be sent to {' and '.join(addresses)}")
