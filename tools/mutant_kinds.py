"""Kinds of small faults in a file: an operator, a number, a branch, a return value, a statement.

Wording is not changed: a test that repeats a sentence proves nothing. Nor are parts without visible
behaviour: annotations, docstrings, lines of the log, how a class is declared, branches for other systems, and
code that the type checker proves to be out of reach (`assert_never`).
What stands inside a formatted string is left out as well, because Python 3.11 does not say where.
"""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
}
_UNSEEN_KEYWORDS = {"frozen", "kw_only", "slots"}


class Edit(NamedTuple):
    """The bytes from `start` to `end` of a file become `text`."""

    start: int
    end: int
    text: str


class Mutant(NamedTuple):
    """One fault in one file."""

    path: str
    number: int
    """Of the line where the edit begins."""
    kind: str
    before: str
    after: str
    """The line without and with the fault, stripped: what a person reads, and what a list names."""
    edit: Edit

    def applied_to(self, source: bytes) -> bytes:
        """Return the file with the fault."""
        return source[: self.edit.start] + self.edit.text.encode() + source[self.edit.end :]

    def is_another_program(self, source: bytes) -> bool:
        """Return whether the file with the fault can be read by Python, and says something else."""
        try:
            return ast.dump(ast.parse(self.applied_to(source))) != ast.dump(ast.parse(source))
        except SyntaxError:
            return False


def mutants_of(path: str, source: bytes) -> list[Mutant]:
    """Return every fault that `source` may have, in the order of the file."""
    found = {_named(path, source, kind, edit) for kind, edit in _Finder(source).edits()}
    return sorted(found, key=lambda one: one.edit)


def _named(path: str, source: bytes, kind: str, edit: Edit) -> Mutant:
    start = source.rfind(b"\n", 0, edit.start) + 1
    end = source.find(b"\n", edit.end)
    end = len(source) if end < 0 else end
    before = " ".join(source[start:end].decode().split())
    after = " ".join(
        (source[start : edit.start].decode() + edit.text + source[edit.end : end].decode()).split()
    )
    return Mutant(path, source.count(b"\n", 0, edit.start) + 1, kind, before, after, edit)


class _Finder:
    def __init__(self, source: bytes) -> None:
        self._source = source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def edits(self) -> Iterator[tuple[str, Edit]]:
        yield from self._below(ast.parse(self._source))

    def _below(self, node: ast.AST) -> Iterator[tuple[str, Edit]]:
        for child in _worth_looking_at(node):
            yield from self._of(child)
            yield from self._below(child)

    def _of(self, node: ast.AST) -> Iterator[tuple[str, Edit]]:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                yield from self._swapped("comparison", left, right, _COMPARISONS[type(op)])
            case ast.BoolOp(op=op, values=[first, second, *_]):
                words = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
                yield from self._swapped("boolean", first, second, words)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                if not any(isinstance(side, ast.JoinedStr) or _is_text(side) for side in (left, right)):
                    yield from self._swapped("arithmetic", left, right, _ARITHMETIC[type(op)])
            case ast.AugAssign(target=target, op=op, value=value) if type(op) in _ARITHMETIC:
                one, other = _ARITHMETIC[type(op)]
                yield from self._swapped("arithmetic", target, value, (f"{one}=", f"{other}="))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield "not", Edit(self._start(node), self._start(operand), self._gap(node, operand))
            case ast.Constant(value=bool() | int() | float() as value):
                yield "constant", self._instead(node, _other_constant(value))
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                text = self._text(test)
                yield "branch", self._instead(test, f"(({text}) and False)")
                if not isinstance(node, ast.While):
                    yield "branch", self._instead(test, f"(({text}) or True)")
            case ast.comprehension(ifs=ifs):
                for test in ifs:
                    yield "filter", self._instead(test, f"(({self._text(test)}) or True)")
            case ast.Return(value=ast.expr() as value) if not _is_none_or_bool(value):
                yield "return", self._instead(node, "return None")
            case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise() | ast.Continue() | ast.AugAssign():
                yield "statement", self._instead(node, "pass")
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                yield "statement", self._instead(node, "pass")

    def _swapped(
        self, kind: str, left: ast.AST, right: ast.AST, words: tuple[str, str]
    ) -> Iterator[tuple[str, Edit]]:
        """The operator stands between two operands, among brackets and comments at most."""
        start, end = self._end(left), self._start(right)
        gap = self._source[start:end].decode()
        edge = r"\b" if words[0][0].isalpha() else ""
        pattern = edge + re.escape(words[0]).replace(r"\ ", r"\s+") + edge
        if (found := re.search(pattern, gap)) is not None:
            before, after = gap[: found.start()], gap[found.end() :]
            yield kind, Edit(start, end, before + words[1] + after)

    def _gap(self, node: ast.AST, operand: ast.AST) -> str:
        return self._source[self._start(node) : self._start(operand)].decode().removeprefix("not").lstrip()

    def _instead(self, node: ast.AST, text: str) -> Edit:
        return Edit(self._start(node), self._end(node), text)

    def _text(self, node: ast.AST) -> str:
        return self._source[self._start(node) : self._end(node)].decode()

    def _start(self, node: ast.AST) -> int:
        assert isinstance(node, ast.expr | ast.stmt)
        return self._lines[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.AST) -> int:
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._lines[node.end_lineno - 1] + node.end_col_offset


def _worth_looking_at(node: ast.AST) -> Iterator[ast.AST]:
    hidden = {getattr(node, name, None) for name in ("annotation", "returns")} - {None}
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.JoinedStr():
                continue
            case ast.keyword(arg=name) if name in _UNSEEN_KEYWORDS:
                continue
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="log")))):
                continue
            case ast.Expr(value=ast.Call(func=ast.Name(id="assert_never"))):
                continue
            case ast.If(test=test) if _asks_for_the_system(test):
                continue
        if child not in hidden:
            yield child


def _asks_for_the_system(test: ast.expr) -> bool:
    names = ("sys.platform", "os.name", "TYPE_CHECKING")
    return any(name in ast.unparse(test) for name in names)


def _other_constant(value: bool | int | float) -> str:
    if isinstance(value, bool):
        return str(not value)
    return str(value + 1 if isinstance(value, int) else value * 2 + 1)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_none_or_bool(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool))
