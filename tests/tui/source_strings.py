"""Finds the strings of the product's source that a user may read, for tests of their words."""

import ast
from collections.abc import Iterator
from pathlib import Path


def strings_below(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the name of the file and the text of every string below `folder`, docstrings left out."""
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                yield path.name, node.value
