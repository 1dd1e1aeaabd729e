"""Asks questions at a terminal, without which the command fails with a sentence; reads standard input."""

import asyncio
import io
import os
import sys
from contextlib import suppress
from threading import Thread

import typer
from pydantic import SecretStr

from core.domain.errors import IllegalCommandError
from storyengine_tui.cli.printing import say

FOR_GOOD = "It cannot be brought back."
"""Effect of deleting something, unless another one is given."""


def ask_hidden(what: str, *, otherwise: str, is_asked_twice: bool = False) -> SecretStr:
    """Read a secret without showing it; `otherwise` says how to give it where there is no terminal.

    Raises StoryEngineError when standard input is not a terminal: the prompt would show what is typed.
    """
    _require_terminal(f"The {what.lower()} is read at a terminal only", otherwise)
    again = f"{what}, once more" if is_asked_twice else False
    return SecretStr(typer.prompt(what, hide_input=True, confirmation_prompt=again, err=True))


def confirm(question: str, *, otherwise: str) -> bool:
    """Ask for a yes; raises StoryEngineError with `otherwise` as its hint where there is no terminal."""
    _require_terminal("This asks for a yes, and there is no terminal to give it", otherwise)
    return typer.confirm(question)


def may_delete(what: str, *, is_sure: bool, effect: str = FOR_GOOD) -> bool:
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
        raise IllegalCommandError(f"{why}; nothing was changed.", otherwise)


async def read_standard_input(most: int) -> bytes:
    """Return standard input, `most` bytes of it at most; raises OSError.

    The thread that waits for it ends with the program: after Ctrl+C asyncio would wait for one of its own
    until the input ends.
    """
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[bytes] = loop.create_future()

    def settle(content: bytes, error: Exception | None) -> None:
        if not answered.done():
            answered.set_result(content) if error is None else answered.set_exception(error)

    def read() -> None:
        content, error = b"", None
        try:
            content = _read(most)
        except (OSError, ValueError) as failed:
            error = failed
        with suppress(RuntimeError):  # The loop is closed.
            loop.call_soon_threadsafe(settle, content, error)

    Thread(target=read, name="standard input", daemon=True).start()
    return await answered


def _read(most: int) -> bytes:
    """Read without the lock of `sys.stdin`, which Python needs when it ends."""
    try:
        number = sys.stdin.fileno()
    except io.UnsupportedOperation:
        return sys.stdin.buffer.read(most)
    content = bytearray()
    while len(content) < most and (piece := os.read(number, min(most - len(content), 1 << 16))):
        content += piece
    return bytes(content)
