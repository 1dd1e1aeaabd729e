"""Private parts of Textual and Rich are touched in one package alone, `storyengine_tui.textual_ext`.

A private part is a module `textual._x` or `rich._x`, or a name that begins with one underscore and belongs to
an object of a library. Two rules find the latter in the syntax tree:

- a name that is read from anything but `self` has to be defined somewhere in the screen;
- a name that a class of ours defines or uses on `self` has to be unknown to the library classes it inherits
  from.
"""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = "storyengine_tui/textual_ext/"
PACKAGES = ("core", "db", "storyengine_tui")
LIBRARIES = ("textual", "rich")


def files() -> list[Path]:
    """Return the product files outside the fence."""
    found = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return [path for path in found if not name_of(path).startswith(FENCE)]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return every node of a file; to walk through its tree takes as long as to parse it."""
    return tuple(ast.walk(tree_of(path)))


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def private_imports(path: Path) -> Iterator[str]:
    """Yield the private modules and names of the libraries that a file imports."""
    if not any(library.encode() in path.read_bytes() for library in LIBRARIES):
        return
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            dotted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            dotted = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in dotted:
            first, *rest = name.split(".")
            if first in LIBRARIES and any(is_private(part) for part in rest):
                yield name


@cache
def defined_here() -> frozenset[str]:
    """Return every private name that the screen defines: functions, classes, variables, attributes of
    `self`."""
    names: set[str] = set()
    for path in (ROOT / "storyengine_tui").rglob("*.py"):
        for node in nodes_of(path):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    names.add(name)
                case ast.Name(id=name, ctx=ast.Store()):
                    names.add(name)
                case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                    names.add(name)
    return frozenset(name for name in names if is_private(name))


def foreign_reads(path: Path) -> Iterator[str]:
    """Yield private attributes of other objects that nothing in the screen defines."""
    for node in nodes_of(path):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                continue
            case ast.Attribute(attr=name) if is_private(name) and name not in defined_here():
                yield f"{ast.unparse(node)} (line {node.lineno})"
            case ast.Call(
                func=ast.Name(id="getattr" | "setattr" | "hasattr"),
                args=[_, ast.Constant(value=str(name)), *_],
            ):
                if is_private(name) and name not in defined_here():
                    yield f"{ast.unparse(node)} (line {node.lineno})"


@cache
def classes_of(path: Path) -> dict[str, ast.ClassDef]:
    """Return the classes of one file of a library."""
    return {node.name: node for node in tree_of(path).body if isinstance(node, ast.ClassDef)}


@cache
def private_names_of(cls: type) -> frozenset[str]:
    """Return the private names of one library class: what it defines, and what it sets on `self`."""
    names = set(vars(cls))
    for node in ast.walk(classes_of(Path(inspect.getfile(cls)))[cls.__name__]):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            names.add(node.attr)
    return frozenset(name for name in names if is_private(name))


def library_bases(cls: type) -> list[type]:
    return [base for base in cls.__mro__ if base.__module__.split(".")[0] in LIBRARIES]


def own_private_names(node: ast.ClassDef) -> Iterator[tuple[str, int]]:
    """Yield the private names that a class body defines or uses on `self`, with their lines."""
    for child in ast.walk(node):
        match child:
            case ast.FunctionDef(name=name, lineno=line) | ast.AsyncFunctionDef(name=name, lineno=line):
                yield name, line
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, lineno=line):
                yield name, line
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name, lineno=line):
                yield name, line


def borrowed(path: Path) -> Iterator[str]:
    """Yield private names that a class of ours shares with the library classes it inherits from."""
    module = None
    for node in tree_of(path).body:
        if not isinstance(node, ast.ClassDef):
            continue
        if module is None:
            module = importlib.import_module(name_of(path).removesuffix(".py").replace("/", "."))
        bases = library_bases(getattr(module, node.name))
        known = frozenset().union(*(private_names_of(base) for base in bases))
        for name, line in own_private_names(node):
            if is_private(name) and name in known:
                yield f"{node.name}.{name} (line {line})"


def touched(path: Path) -> list[str]:
    """Return the private parts that a file touches."""
    found = [*private_imports(path)]
    if path.is_relative_to(ROOT / "storyengine_tui"):
        found += [*foreign_reads(path), *borrowed(path)]
    return found


def test_no_file_outside_the_fence_touches_a_private_part_of_a_library() -> None:
    assert len(files()) > 500
    assert not {name_of(path): found for path in files() if (found := touched(path))}


def classes_of_the_fence() -> frozenset[str]:
    trees = [tree_of(path) for path in sorted((ROOT / FENCE).rglob("*.py"))]
    return frozenset(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def selectors() -> Iterator[tuple[str, str]]:
    """Yield every style sheet of the screen, and every string of its code that could be one or a selector."""
    screen = ROOT / "storyengine_tui"
    yield from ((name_of(path), path.read_text()) for path in sorted(screen.rglob("*.tcss")))
    for path in (path for path in files() if path.is_relative_to(screen)):
        strings = [node for node in nodes_of(path) if isinstance(node, ast.Constant)]
        docstrings = {
            id(node.body[0].value)
            for node in nodes_of(path)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and isinstance(node.body[0], ast.Expr)
        }
        for node in strings:
            if isinstance(node.value, str) and id(node) not in docstrings:
                yield f"{name_of(path)}:{node.lineno}", node.value


def test_no_style_names_a_class_of_the_fence_for_another_stands_there_where_a_part_is_off() -> None:
    names = re.compile(rf"\b({'|'.join(sorted(classes_of_the_fence()))})\b")
    assert "GuardedSelect" in classes_of_the_fence()
    assert not {place: found[0] for place, text in selectors() if (found := names.search(text)) is not None}
