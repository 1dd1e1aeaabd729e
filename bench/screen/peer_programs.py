"""The programs beside us: how each is told where its model is, and how a conversation is begun in it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.screen.service import MODEL
from bench.screen.visits import OPEN, ready
from bench.screen.window import Window

ASKED = "hello there"
NOTHING_FETCHED = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
"""Without this, a library of theirs waits for the network, for longer than all the rest takes."""
_PATIENCE = 60.0
_SILENCE, _MOMENT = 0.35, 6.0
"""Seconds without a byte after which a program waits for the user, less than a cursor blinks; and at most."""
_LATE = 2.0
"""The same for programs that greet a moment after they are ready."""


@dataclass(frozen=True)
class Peer:
    """A package of the registry."""

    command: Sequence[str]
    page: str
    """Text of its first page."""
    point_at: Callable[[Path, int], Mapping[str, str]]
    """Has it talk to the service on a port, with this home; returns what its environment needs for that."""
    begin: Callable[[Window], None] | None
    """From its first page to a prompt that is typed and not sent."""
    send: str
    """The key that sends it."""


def begin_ours(window: Window) -> None:
    """Type a prompt below a transcript of 60,000 characters."""
    ready(window)
    window.wait_for(OPEN, _PATIENCE)
    window.press(f" {ASKED}")
    # What is typed is stored within a second; that is no part of the stream.
    window.settle(1.3, _MOMENT)


def _elia(home: Path, port: int) -> Mapping[str, str]:
    folder = home / ".config" / "elia"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(
        f'default_model = "openai/{MODEL}"\n[[models]]\nname = "openai/{MODEL}"\n'
        f'api_base = "http://127.0.0.1:{port}/v1"\napi_key = "none"\n',
        "utf-8",
    )
    return NOTHING_FETCHED


def _begin_elia(window: Window) -> None:
    window.wait_for("Send message", _PATIENCE)
    _ask(window)


def _ollama(home: Path, port: int) -> Mapping[str, str]:
    address = f"127.0.0.1:{port}"
    return {"OLLAMA_HOST": address, "OLLAMA_URL": f"http://{address}", **NOTHING_FETCHED}


def _begin_oterm(window: Window) -> None:
    window.wait_for("new chat", _PATIENCE)
    window.settle(_SILENCE, _MOMENT)
    window.press("\x0e")
    window.wait_for("Type model name", _PATIENCE)
    _click(window, f" {MODEL} ")
    window.wait_for(f"Model: {MODEL}", _PATIENCE)
    _click(window, "Save")
    window.wait_for(lambda: "Type model name" not in window.shown, _PATIENCE)
    # The page of the new chat comes a moment later; what is typed before that goes nowhere.
    window.settle(_LATE, _MOMENT)
    _ask(window)


def _begin_parllama(window: Window) -> None:
    window.wait_for("Local model list refreshed", _PATIENCE)
    window.settle(_LATE, _MOMENT)
    if "Welcome" in window.shown:
        window.press("enter")
        window.wait_for(lambda: "Welcome" not in window.shown, _PATIENCE)
    _click(window, " Chat ")
    if " Select " in window.text:
        _click(window, " Select ")
        _click(window, f"  {MODEL} ")
    _click(window, "Type a message")
    _ask(window)


def _click(window: Window, text: str) -> None:
    window.wait_for(text, _PATIENCE)
    window.settle(_SILENCE, _MOMENT)
    window.click(text)


def _ask(window: Window) -> None:
    window.settle(_SILENCE, _MOMENT)
    window.press(ASKED)
    window.wait_for(ASKED, _PATIENCE)
    window.settle(_SILENCE, _MOMENT)


PEERS = {
    "elia-chat": Peer(["elia"], "Send message", _elia, _begin_elia, "\n"),
    "oterm": Peer(["oterm"], "new chat", _ollama, _begin_oterm, "enter"),
    "parllama": Peer(["parllama", "-s", "chat"], "PAR LLAMA", _ollama, _begin_parllama, "enter"),
    # It asks for a newer Python than ours, as the installer says; where there is one, its page is timed.
    "batrachian-toad": Peer(["toad"], "", _ollama, None, "enter"),
}
