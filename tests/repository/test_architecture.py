"""docs/architecture.md names only what is there: a page that lies is worse than none."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
PRODUCT = ("core", "db", "storyengine_tui")
MAX_MODULES = 13
"""The most modules of one folder, `__init__` not counted; a reader should see them at a glance."""
TOP = ("core", "db", "migrations", "storyengine_tui", "tests", "bench", "tools", "docs")


@cache
def paths() -> frozenset[str]:
    """Return every file and folder of the project, from its root, without the suffix of Python files."""
    files = [path for top in TOP for path in (ROOT / top).rglob("*") if path.is_file()]
    files = [path for path in files if "__pycache__" not in path.parts]
    # Folders by their files: one that an earlier tree had may be left, and empty.
    found = {*files, *(folder for path in files for folder in path.parents if ROOT in folder.parents)}
    names = {path.relative_to(ROOT).as_posix() for path in found}
    return frozenset({*names, *(name.removesuffix(".py") for name in names)})


def tree() -> list[str]:
    """Return the paths of the tree, which is indented by two spaces a level."""
    block = PAGE.read_text().split("```")[1]
    above: list[str] = []
    found = []
    for line in block.splitlines():
        indent = len(line) - len(line.lstrip())
        name = line.strip().split(" ")[0]
        if indent > 6 or not name.endswith(("/", ".py")):
            continue
        above[indent // 2 :] = [name.rstrip("/")]
        found.append("/".join(above))
    return found


def named() -> list[str]:
    """Return the paths between backticks in the text: from the root, or from a folder that says enough."""
    text = "".join(PAGE.read_text().split("```")[2:])
    return sorted({name for name in re.findall(r"`([\w./]+)`", text) if "/" in name})


def test_a_path_of_the_tree_exists() -> None:
    assert len(tree()) > 40
    assert not [path for path in tree() if not (ROOT / path).exists()]


def is_there(name: str) -> bool:
    """Return whether a path of the text exists and has what is named of it."""
    path = name.removesuffix(".py").rstrip("/")
    if any(f"/{known}".endswith(f"/{path}") for known in paths()):
        return True
    path, _, attribute = path.rpartition(".")
    found = [one for one in paths() if path and f"/{one}".endswith(f"/{path}")]
    return len(found) == 1 and bool(re.search(rf"def {attribute}\b", (ROOT / f"{found[0]}.py").read_text()))


def test_a_path_in_the_text_exists_and_has_what_is_named_of_it() -> None:
    assert len(named()) > 40
    assert not [name for name in named() if not is_there(name)]


def test_every_folder_of_the_product_is_in_the_tree() -> None:
    folders = {
        path.parent.relative_to(ROOT).as_posix()
        for package in PRODUCT
        for path in (ROOT / package).rglob("__init__.py")
    }
    said = PAGE.read_text()
    assert not {folder for folder in folders if f"{folder.rpartition('/')[2]}/" not in said}


def test_a_folder_of_the_product_holds_no_more_modules_than_one_can_look_over() -> None:
    modules = [path for package in PRODUCT for path in (ROOT / package).rglob("*.py")]
    counts = Counter(path.parent.relative_to(ROOT) for path in modules if path.stem != "__init__")
    assert not {str(folder): count for folder, count in counts.items() if count > MAX_MODULES}


@cache
def style_sheets() -> list[tuple[Path, str]]:
    """Return the modules that name a style sheet relative to themselves, each with that name."""
    return [
        (path, node.value.value)
        for path in sorted((ROOT / "storyengine_tui").rglob("*.py"))
        if b"CSS_PATH" in path.read_bytes()
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == "CSS_PATH"
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]


def test_a_style_sheet_that_a_screen_names_is_there() -> None:
    assert style_sheets()
    assert not [str(path) for path, name in style_sheets() if not (path.parent / name).is_file()]
