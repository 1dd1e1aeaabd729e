"""Puts the parts together: the one place where core, db and the front end meet (design 3).

The database layer, the providers and the settings are heavy to import, so they are imported when first
needed: the screen paints before its settings are read.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from core.config.files.paths import ENV_FILE, Paths, find_paths
from core.config.files.private_files import refuse_open_places

if TYPE_CHECKING:
    from core.config.consent import Consent
    from core.config.models.accounts import Accounts
    from core.config.models.assignments import ModelAssignments
    from core.config.models.embedding import EmbeddingChoice
    from core.config.password import PasswordGate
    from core.config.sections import ProviderName
    from core.config.settings import Settings
    from core.engine.catalog import SessionCatalog
    from core.engine.engine import Engine
    from core.engine.engine_settings import CallRules, PlaySettings
    from core.engine.queue.control import QueueControl
    from core.gateway.embedding_service import EmbeddingPlan
    from core.ledger.prices import PriceBook
    from core.ledger.spending import Spending
    from db.store import PostgresStore

HEAVY = ("uuid6", "db.store", "core.engine.engine", "core.providers.factory")
"""Modules of an engine, which are slow to load."""
START_TIMEOUT = 120.0
"""Seconds that the private server may take to come up, its very first start included."""


def _no_spending() -> "Spending":
    from core.ledger.spending import Spending

    return Spending()


@dataclass(frozen=True, slots=True)
class Configuration:
    """Settings and paths of the program."""

    paths: Paths
    settings: "Settings"
    spending: "Spending" = field(default_factory=_no_spending, compare=False)
    """Amounts remembered until the program ends, whatever the settings become."""

    @property
    def accounts(self) -> "Accounts":
        """The services that can be called."""
        from core.config.models.accounts import accounts_of

        return accounts_of(self.settings.active(), self.settings.profile, self.settings.accounts)

    @property
    def choices(self) -> "ModelAssignments":
        """The model of each agent; raises StoryEngineError for an account that cannot answer."""
        from core.config.models.assignments import choose_models

        return choose_models(self.settings.active(), self.accounts)

    @property
    def embedding(self) -> "EmbeddingChoice | None":
        """The embedding model; None where it is switched off.

        Raises StoryEngineError for an account that cannot answer.
        """
        from core.config.models.embedding import choose_embedding

        return choose_embedding(self.settings.embedding, self.accounts)

    @property
    def gate(self) -> "PasswordGate | None":
        """The check of the password; None where no password is set."""
        from core.config.password import PasswordGate

        hash_ = self.settings.password_hash
        return None if hash_ is None else PasswordGate(hash_, self.paths.tries_file)

    @property
    def prices(self) -> "PriceBook":
        """Prices of models, the GM's own first."""
        from core.domain.requests.cost import UnitPrices
        from core.ledger.prices import PriceBook

        own = self.settings.prices
        return PriceBook({name: UnitPrices(**prices.model_dump()) for name, prices in own.items()})

    @property
    def consent(self) -> "Consent":
        """The addresses that text may go to."""
        from core.config.consent import Consent

        return Consent(self.settings.consent, self.paths.consent_file)

    @property
    def rules(self) -> "CallRules":
        """The conditions of a call."""
        from core.engine.engine_settings import CallRules
        from core.ledger.ceilings import Ceilings

        ceilings = Ceilings(**self.settings.ceilings.model_dump())
        return CallRules(self.consent, self.prices, ceilings, self.spending)

    @property
    def play(self) -> "PlaySettings":
        """The settings of retries, afterthoughts and hints."""
        from core.domain.requests.retry_policy import Backoffs
        from core.engine.engine_settings import PlaySettings
        from core.engine.services.speaking.hints import HintRules

        settings = self.settings
        backoffs = Backoffs.of(
            summary_first=settings.summary_backoff,
            summary_tries=settings.summary_tries,
            background_first=settings.background_backoff,
            background_tries=settings.background_tries,
        )
        hints = HintRules(settings.hint_minutes, settings.hints_by_model)
        return PlaySettings(backoffs, settings.afterthoughts, hints)


class Unread(NamedTuple):
    """Paths of the program, and a function that reads the settings once something is on screen."""

    paths: Paths
    read: Callable[[], Awaitable[Configuration]]
    """Raises StoryEngineError when a setting is not valid, or the password of the environment is wrong."""


def find_private_paths() -> Paths:
    """Return the program's paths; raise NotPrivateError when others can read the GM's files."""
    paths = find_paths()
    refuse_open_places(paths, Path(ENV_FILE))
    return paths


def configure(*, provider: "ProviderName | None" = None, script: Path | None = None) -> Configuration:
    """Read the settings, overridden by the command line; raise StoryEngineError when one is not valid.

    The GM's files are checked first: raises NotPrivateError when others can read them.
    """
    from core.config.settings import load_settings

    paths = find_private_paths()
    settings = load_settings(paths.config_file)
    changes: dict[str, object] = {}
    if provider is not None:
        changes["provider"] = provider
    if script is not None:
        changes["script"] = script
    configuration = Configuration(paths, settings.model_copy(update=changes))
    # An account that cannot answer is said at once, and not at the first call.
    _ = configuration.choices, configuration.embedding
    return configuration


@asynccontextmanager
async def running_database(configuration: Configuration) -> AsyncIterator[str]:
    """Yield the address of the configured database, or of the embedded one, started for the block."""
    url = configuration.settings.database_url
    if url is not None:
        yield url.get_secret_value()
        return
    from db.embedded.server import EmbeddedServer
    from db.embedded.watchdog import keep_alive

    server = EmbeddedServer(configuration.paths.server)
    address = await asyncio.to_thread(server.acquire, START_TIMEOUT)
    try:
        async with keep_alive(server):
            yield address
    finally:
        await asyncio.to_thread(server.release)


@asynccontextmanager
async def running_store(configuration: Configuration) -> AsyncIterator["PostgresStore"]:
    """Yield a store on an up-to-date schema; close it at the end of the block."""
    async with running_database(configuration) as url:
        # In a thread: these imports take half a second, and typing never waits.
        store_module = await asyncio.to_thread(import_module, "db.store")
        store: PostgresStore = await store_module.open_store(url, configuration.paths.unstored)
        try:
            await _store_kept(store, configuration)
            yield store
        finally:
            await store.aclose()


async def _store_kept(store: "PostgresStore", configuration: Configuration) -> None:
    from db.kept_at_start import store_kept

    await store_kept(store, configuration.paths.unstored, _label())


async def _store_kept_before_copy(url: str, configuration: Configuration) -> None:
    from db.kept_at_start import store_kept_before_copy

    await store_kept_before_copy(url, configuration.paths.unstored, _label())


@asynccontextmanager
async def running_catalog(configuration: Configuration) -> AsyncIterator["SessionCatalog"]:
    """Yield the sessions of the store, without a model; close the store at the end of the block."""
    async with running_store(configuration) as store:
        from core.domain.clock import utc_now
        from core.engine.catalog import SessionCatalog

        yield SessionCatalog(store, configuration.choices, label=_label(), clock=utc_now)


@asynccontextmanager
async def running_queue(
    configuration: Configuration,
) -> AsyncIterator[tuple["QueueControl", "SessionCatalog"]]:
    """Yield the queue of all chapters, and the chapters, without a model and with none of them open."""
    async with running_store(configuration) as store:
        from core.domain.clock import utc_now
        from core.engine.catalog import SessionCatalog
        from core.engine.queue.control import QueueControl, QueueSwitch

        catalog = SessionCatalog(store, configuration.choices, label=_label(), clock=utc_now)
        parts = (store.queue, QueueSwitch(), catalog.choices, utc_now, catalog.closed, lambda _: None)
        yield QueueControl(*parts), catalog


async def find_vector_extension(configuration: Configuration) -> tuple[str, str, bool]:
    """Return which pgvector the server offers, which the database has, and whether it can have it.

    Raises StorageError.
    """
    from db.schema import extensions

    async with running_database(configuration) as url:
        return await extensions.find_vector_extension(url)


def _label() -> str:
    """Return the name of this window, which no other one has."""
    return f"{socket.gethostname()}, process {os.getpid()}"


async def back_up(configuration: Configuration, file: Path) -> None:
    """Write a verified backup of the whole database to `file`; raise StorageError."""
    from db.backups.dump import backup

    async with running_database(configuration) as url:
        await _store_kept_before_copy(url, configuration)
        await backup(url, file)


async def back_up_into(configuration: Configuration, directory: Path, keep: int) -> Path:
    """Write a verified backup into `directory`, keep the newest few, and return it; raise StorageError."""
    from core.domain.clock import utc_now
    from db.backups.rotation import backup_into

    async with running_database(configuration) as url:
        await _store_kept_before_copy(url, configuration)
        return await backup_into(url, directory, keep, utc_now())


KEPT_BEFORE_RESTORES = 5
"""Number of backups made before restores that are kept."""


async def restore_backup(configuration: Configuration, file: Path, *, replace: bool) -> Path | None:
    """Restore a backup into an empty database, or over what is there; return the backup of the latter.

    Raises StorageError, which names that backup where it was made; nothing was changed unless it says so.
    """
    from core.domain.clock import utc_now
    from core.domain.errors import StorageError
    from db.backups.dump import check_backup, mark_of_content, restore
    from db.backups.rotation import add_backup, keep_newest

    async with running_database(configuration) as url:
        before, now = None, utc_now()
        await check_backup(url, file)
        if replace:
            await _store_kept_before_copy(url, configuration)
        mark = await mark_of_content(url) if replace else ""
        if mark:
            before = await add_backup(url, configuration.paths.backups, now)
        # Only what is backed up is replaced: an empty database may hold a chapter by now.
        try:
            await restore(url, file, replace=before is not None, mark=mark)
        except StorageError as error:
            if before is None:
                raise
            hint = f"{error.hint} What was there before the restore is in {before}.".strip()
            raise StorageError(error.code, error.message, hint, is_transient=error.is_transient) from error
        if before is not None:
            with suppress(StorageError):  # older ones are removed after the next restore
                await keep_newest(before, KEPT_BEFORE_RESTORES, now, spared=file)
        return before


def shown_address(url: str) -> str:
    """Return the database's address without its password."""
    from db.connections import parse_url

    return parse_url(url).render_as_string(hide_password=True)


@asynccontextmanager
async def running_engine(configuration: Configuration) -> AsyncIterator["Engine"]:
    """Yield an engine; close it and the sessions opened on it at the end of the block."""
    imported = asyncio.create_task(_import_what_is_heavy())
    try:
        async with (
            running_store(configuration) as store,
            _engine_on(store, configuration, imported) as engine,
        ):
            yield engine
    finally:
        imported.cancel()


async def _import_what_is_heavy() -> None:
    """While the server starts; in a thread, because typing never waits."""
    for name in HEAVY:
        await asyncio.to_thread(import_module, name)


def _embedding_plan(configuration: Configuration) -> "EmbeddingPlan | None":
    from core.gateway.embedding_service import EmbeddingPlan
    from core.providers.factory import make_embedder

    choice = configuration.embedding
    if choice is None:
        return None
    return EmbeddingPlan(choice, partial(make_embedder, choice, configuration.paths))


@asynccontextmanager
async def _engine_on(
    store: "PostgresStore", configuration: Configuration, imported: "asyncio.Task[None]"
) -> AsyncIterator["Engine"]:
    await imported
    from core.engine.engine import Engine
    from core.gateway.lanes import lanes_of
    from core.providers.factory import make_provider

    accounts, paths, choices = configuration.accounts, configuration.paths, configuration.choices
    provider = make_provider(accounts.own, paths, choices)
    lanes = lanes_of(accounts, paths, choices)
    engine = None
    try:
        engine = Engine(
            store,
            provider,
            choices,
            label=_label(),
            lanes=lanes,
            rules=configuration.rules,
            play=configuration.play,
            embedding=_embedding_plan(configuration),
        )
        yield engine
    finally:
        if engine is not None:
            await engine.embeddings.aclose()
        await provider.aclose()
        for lane in lanes.values():
            await lane.aclose()
