"""Refusals of words on the command line, in sentences of our own instead of a library's."""

from typing import Any

import typer
from typer.core import TyperGroup


class Commands(TyperGroup):
    """The commands; a word that cannot be read is refused in a plain sentence."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was typed."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = _plain(error)
            raise


def _plain(error: typer.BadParameter) -> str:
    """Return the sentence of a refusal; Typer has the faults of a word from pydantic."""
    from pydantic import ValidationError

    if not isinstance(error.__cause__, ValidationError):
        return error.message
    fault = error.__cause__.errors()[0]
    typed, bounds = f"“{fault['input']}”", fault.get("ctx", {})
    match fault["type"]:
        case "int_parsing" | "int_from_float" | "int_parsing_size":
            return f"{typed} is not a whole number."
        case "float_parsing":
            return f"{typed} is not a number."
        case "greater_than_equal":
            return f"{typed} is too small; the least is {bounds['ge']:g}."
        case "less_than_equal":
            return f"{typed} is too large; the most is {bounds['le']:g}."
        case "value_error":
            return f"{bounds['error']}"
        case _:
            return error.message
