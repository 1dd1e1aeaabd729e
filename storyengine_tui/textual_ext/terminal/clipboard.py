"""Copies to the user's own clipboard: through OSC 52, and inside tmux through tmux as well."""

import logging
import os
import subprocess
from functools import partial
from typing import Final

from textual.app import App

log = logging.getLogger(__name__)

_TIMEOUT_S: Final = 2.0


def copy_through_tmux(app: App[None], text: str) -> None:
    """Copy `text` inside tmux, which swallows OSC 52 by default (`set-clipboard external`).

    In a thread, since tmux may be slow.
    """
    if os.environ.get("TMUX"):
        work = partial(hand_to_tmux, text)
        app.run_worker(work, thread=True, group="clipboard", exit_on_error=False, exclusive=True)


def hand_to_tmux(text: str) -> bool:
    """Give `text` to tmux, which passes it on to the terminal; return whether tmux accepted it."""
    try:
        subprocess.run(
            ["tmux", "load-buffer", "-w", "-"],
            input=text.encode(errors="replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        log.info("tmux did not accept the copied text: %s", error)
        return False
    return True
