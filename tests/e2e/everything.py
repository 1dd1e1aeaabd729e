"""Imports all of the program: what `tests.e2e.prefork` forks from has no more to import.

The program itself imports most of it when it is needed.
"""

import gc
import importlib
import pkgutil

import core
import db
import storyengine_tui

CHILD = "core.providers.local.child"
"""Replaces its process; it is no module to import."""
FOUND_LATE = (
    "alembic.command",
    "anyio._backends._asyncio",
    "httpcore2",
    "importlib.readers",
    "keyring.backends.null",
    "openai",
    "textual.drivers.linux_driver",
    "textual.drivers.web_driver",
    "typer._click.decorators",
    "uuid6",
)
"""What libraries and the program import at the first use."""

for package in (core, db, storyengine_tui):
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if found.name != CHILD:
            importlib.import_module(found.name)
for name in FOUND_LATE:
    importlib.import_module(name)
# What a collection looks through is no longer shared with the program that collects.
gc.freeze()
