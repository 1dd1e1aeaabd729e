"""Asks questions at a terminal; without a terminal the command fails with a sentence."""

import sys

import typer
from pydantic import SecretStr

from core.domain.errors import ErrorCode, StoryEngineError
from storyengine_tui.cli.words import say


def ask_hidden(what: str, *, otherwise: str, is_asked_twice: bool = False) -> SecretStr:
    """Read a secret without showing it; `otherwise` says how to give it where there is no terminal.

    Raises StoryEngineError when standard input is not a terminal: the prompt would show what is typed.
    """
    _require_terminal(f"{what} is read at a terminal only", otherwise)
    again = f"{what}, once more" if is_asked_twice else False
    return SecretStr(typer.prompt(what, hide_input=True, confirmation_prompt=again, err=True))


def confirm(question: str, *, otherwise: str) -> bool:
    """Ask for a yes; raises StoryEngineError with `otherwise` as its hint where there is no terminal."""
    _require_terminal("This asks for a yes, and there is no terminal to give it", otherwise)
    return typer.confirm(question)


def may_delete(what: str, *, is_sure: bool, effect: str = "It cannot be brought back.") -> bool:
    """Whether `what` may be deleted for good, unasked if `is_sure`; says so if it may not.

    Raises StoryEngineError where there is no terminal to ask at.
    """
    is_wanted = is_sure or confirm(f"Delete {what} for good? {effect}", otherwise="Add --yes to delete it.")
    if not is_wanted:
        say("Nothing was deleted.")
    return is_wanted


def is_attended() -> bool:
    """Whether someone can type an answer."""
    return sys.stdin is not None and sys.stdin.isatty()


def _require_terminal(why: str, otherwise: str) -> None:
    if not is_attended():
        raise StoryEngineError(ErrorCode.ILLEGAL_COMMAND, f"{why}; nothing was changed.", otherwise)
