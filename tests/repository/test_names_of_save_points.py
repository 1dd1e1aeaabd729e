"""In code a stored state of a chapter is a save point: a slot there is the place of a character."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("core", "db", "storyengine_tui")
KINDS = ("SavePoint", "SavePoints")


def named_slot(tree: ast.Module) -> Iterator[int]:
    """Yield the lines in which something that holds save points is named after slots."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.arg(arg=name, annotation=annotation)
                | ast.AnnAssign(target=ast.Name(id=name), annotation=annotation)
            ):
                kinds = set(ast.unparse(annotation).replace("'", "").split("[")) if annotation else set()
                if "slot" in name and kinds & set(KINDS):
                    yield node.lineno
            case (
                ast.FunctionDef(name=name, returns=returns) | ast.AsyncFunctionDef(name=name, returns=returns)
            ):
                if "slot" in name and returns is not None and "SavePoint" in ast.unparse(returns):
                    yield node.lineno
            case ast.alias(name="save_point" | "save_points", asname=str(name)) if "slot" in name:
                yield node.lineno


def test_a_save_point_is_not_named_after_the_slot_of_a_character() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        for line in named_slot(ast.parse(path.read_text("utf-8")))
    ]
    assert not found


def test_a_name_with_slot_is_found() -> None:
    source = "def keep_slot(slot: 'SavePoint') -> SavePoint: ...\nfrom a import save_point as save_slot\n"
    assert len(list(named_slot(ast.parse(source)))) == 3
