"""Arrows point one way: `storyengine_tui → core ← db`, and each heavy library has one door (design 3).

Read twice: from the syntax tree, which sees every import wherever it stands, and from `sys.modules` of
a fresh interpreter, which sees what an import drags in.
"""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import takewhile
from pathlib import Path

import pytest

from tests.repository.test_architecture import tree

ROOT = Path(__file__).parents[2]
PACKAGES = ("core", "db", "migrations", "storyengine_tui")


def sources(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@cache
def imported(path: Path) -> frozenset[str]:
    """Return every module that the file imports, by its full dotted name."""
    return frozenset(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively, which hides the arrow"
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def importers(library: str) -> set[str]:
    """Return the files, relative to the root, that import the library or a part of it."""
    return {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in sources(package)
        if any(name.split(".")[0] == library for name in imported(path))
    }


def within(files: set[str], *places: str) -> bool:
    return all(file.startswith(places) for file in files)


@cache
def module_names(package: str) -> list[str]:
    """Return the dotted names of all modules of a package."""
    names = []
    for path in sources(package):
        parts = path.relative_to(ROOT).with_suffix("").parts
        names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return names


@cache
def loaded() -> dict[str, set[str]]:
    """Return the top-level packages that a fresh interpreter holds after each of these steps, in turn."""
    # The child of the local model replaces its process; it is no module to import.
    core = [name for name in module_names("core") if name != "core.providers.local.child"]
    steps = {
        "engine": [name for name in core if not name.startswith("core.providers.")],
        "core": core,
        "db": module_names("db"),
        "commands": ["storyengine_tui.cli.app"],
    }
    program = (
        "import importlib, json, sys\n"
        "for step in json.loads(sys.argv[1]):\n"
        "    for name in step: importlib.import_module(name)\n"
        "    print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps([*steps.values()])],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    return {step: set(json.loads(line)) for step, line in zip(steps, done.stdout.splitlines(), strict=True)}


@pytest.mark.parametrize("library", ["db", "migrations", "storyengine_tui"])
def test_core_knows_nothing_of_the_others(library: str) -> None:
    assert not {file for file in importers(library) if file.startswith("core/")}


@pytest.mark.parametrize("library", ["textual", "storyengine_tui"])
def test_only_the_screen_knows_the_screen(library: str) -> None:
    assert within(importers(library), "storyengine_tui/")


@pytest.mark.parametrize("library", ["sqlalchemy", "sqlmodel", "alembic"])
def test_only_the_store_speaks_sql(library: str) -> None:
    assert within(importers(library), "db/", "migrations/")


def test_only_the_bootstrap_puts_core_and_store_together() -> None:
    outside = {file for file in importers("db") if not file.startswith(("db/", "migrations/"))}
    assert outside <= {"storyengine_tui/bootstrap.py"}


def test_screens_and_commands_reach_the_store_through_the_engine() -> None:
    found = {
        path
        for path in sources("storyengine_tui")
        if "core.storage.session_store.SessionStore" in imported(path)
    }
    opened = {path for path in sources("storyengine_tui") if "running_store" in path.read_text()}
    asked = {path for path in sources("storyengine_tui") if re.search(r"\.store\.\w", path.read_text())}
    assert not found
    assert not asked
    # `db upgrade` brings the schema up to date by opening the store, and does nothing with it.
    assert {path.name for path in opened} == {"bootstrap.py", "database.py"}


@pytest.mark.parametrize(
    ("library", "door"),
    [
        ("openai", "core/providers/openai/provider.py"),
        ("xllamacpp", "core/providers/local/child.py"),
        ("genai_prices", "core/ledger/prices.py"),
    ],
)
def test_a_heavy_library_has_one_door(library: str, door: str) -> None:
    assert importers(library) == {door}


def test_the_engine_starts_without_a_vendor() -> None:
    assert "core" in loaded()["engine"]
    assert not loaded()["engine"] & {"openai", "httpx", "httpx2", "xllamacpp", "genai_prices"}


def test_core_loads_no_storage_and_no_screen() -> None:
    unwanted = {"db", "migrations", "storyengine_tui", "textual", "sqlalchemy", "sqlmodel", "psycopg"}
    assert not loaded()["core"] & unwanted


def test_the_store_is_reached_without_the_screen() -> None:
    assert "sqlalchemy" in loaded()["db"]
    assert not loaded()["db"] & {"storyengine_tui", "textual"}


def test_a_command_starts_without_the_screen() -> None:
    assert "typer" in loaded()["commands"]
    assert "textual" not in loaded()["commands"]


def names_of(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


@cache
def arrows() -> dict[str, dict[str, set[str]]]:
    """Return, for each package, which of its children imports which other one; functions and types count."""
    modules = {name for package in PACKAGES for name in module_names(package)}
    found: dict[str, dict[str, set[str]]] = {}
    for path in (path for package in PACKAGES for path in sources(package)):
        ours = names_of(path)
        for theirs in (tuple(name.split(".")) for name in imported(path) if name in modules):
            depth = sum(
                1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(ours, theirs, strict=False))
            )
            if depth < min(len(ours), len(theirs)):
                children = found.setdefault(".".join(ours[:depth]), {})
                children.setdefault(ours[depth], set()).add(theirs[depth])
    return found


def circle(children: dict[str, set[str]]) -> list[str]:
    """Return the children that import each other in a circle; empty when none do."""
    try:
        TopologicalSorter(children).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_the_children_of_a_package_do_not_import_each_other_in_a_circle() -> None:
    assert circle({"a": {"b"}, "b": {"a"}}) == ["a", "b", "a"]
    assert len(arrows()) > 50
    assert not {package: found for package, children in arrows().items() if (found := circle(children))}


def test_a_package_imports_only_what_stands_above_it_in_the_tree_of_the_architecture_page() -> None:
    listed: dict[str, list[str]] = {}
    for path in tree():
        parent, _, child = path.removesuffix(".py").rpartition("/")
        listed.setdefault(parent.replace("/", "."), []).append(child)
    assert len(listed["core"]) > 10
    below = {
        f"{parent}.{child} imports {used}"
        for parent, order in listed.items()
        for child, imports in arrows().get(parent, {}).items()
        for used in imports & {*order}
        if child in order and order.index(used) > order.index(child)
    }
    assert not below


@pytest.mark.parametrize(
    ("importer", "allowed"),
    [
        ("core.text", ("core.text",)),
        ("core.domain", ("core.domain", "core.text")),
        ("core.config", ("core.config", "core.domain", "core.text")),
        ("core.library", ("core.library", "core.domain", "core.text")),
        (
            "core.context",
            ("core.context", "core.config", "core.domain", "core.library", "core.providers", "core.text"),
        ),
        (
            "core.agents",
            (
                "core.agents",
                "core.config",
                "core.context",
                "core.domain",
                "core.library",
                "core.providers",
                "core.text",
            ),
        ),
        ("core.ledger", ("core.ledger", "core.config", "core.domain", "core.text")),
        ("core.providers", ("core.providers", "core.config", "core.domain", "core.text")),
        ("storyengine_tui.textual_ext", ("storyengine_tui.textual_ext",)),
        (
            "storyengine_tui.widgets",
            (
                "storyengine_tui.widgets",
                "storyengine_tui.textual_ext",
                "storyengine_tui.theme",
                "core.domain",
                "core.text",
            ),
        ),
        (
            "storyengine_tui.screens",
            (
                "storyengine_tui.screens",
                "storyengine_tui.widgets",
                "storyengine_tui.textual_ext",
                "storyengine_tui.theme",
                "storyengine_tui.bootstrap",
                "core",
            ),
        ),
    ],
)
def test_a_package_imports_only_what_lies_below_it(importer: str, allowed: tuple[str, ...]) -> None:
    modules = {name for package in PACKAGES for name in module_names(package)}
    found = {
        name
        for path in sources(importer.replace(".", "/"))
        for name in imported(path)
        if name in modules and not any(name == one or name.startswith(f"{one}.") for one in allowed)
    }
    assert found <= {importer.rpartition(".")[0]}


@pytest.mark.parametrize("tab", ["setup", "play", "narrative"])
def test_a_tab_knows_nothing_of_the_other_tabs(tab: str) -> None:
    others = {f"storyengine_tui.screens.{other}" for other in ("setup", "play", "narrative") if other != tab}
    found = {name for path in sources(f"storyengine_tui/screens/{tab}") for name in imported(path)}
    assert not {name for name in found if name.startswith(tuple(others))}
