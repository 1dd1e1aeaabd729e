"""Copies to the user's own clipboard: through OSC 52, and inside tmux through tmux as well."""

import logging
import os
import subprocess
from typing import Final

from textual.app import App

log = logging.getLogger(__name__)

_TIMEOUT_S: Final = 2.0


class ClipboardApp(App[None]):
    """An app whose copies also reach tmux, which swallows OSC 52 by default (`set-clipboard external`)."""

    def copy_to_clipboard(self, text: str) -> None:
        """Copy `text`; inside tmux pass it on in a thread, since tmux may be slow."""
        super().copy_to_clipboard(text)
        if os.environ.get("TMUX"):
            self.run_worker(
                lambda: hand_to_tmux(text),
                thread=True,
                group="clipboard",
                exit_on_error=False,
                exclusive=True,
            )


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
