"""What is named on the command line, or stands in a chapter, is shown as data: no escape of it gets out."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from core.domain.session.prompt_block import LONGEST_BLOCK_NAME
from core.text.cleaning import clean
from tests.bad_text import KINDS, BadText, acts
from tests.e2e import one_server
from tests.e2e.program import PROGRAM, Machine, chapter_script, warm_machine
from tests.e2e.terminal.game_master import GameMaster
from tests.terminal import Size

TITLE = "\x1b]0;owned\x07\x1b[31mX"
# No program can be given these.
GIVEN = [kind for kind in KINDS if "\x00" not in kind.middle and kind.name != "lone surrogates"]


@pytest.mark.parametrize("command", [("import",), ("export",), ("slots", "restore"), ("play",)])
def test_what_is_named_on_the_command_line_is_repeated_without_its_escapes(
    here: Machine, command: tuple[str, ...]
) -> None:
    more = ("1",) if command[-1] == "restore" else ()
    refused = here.call(*command, TITLE + ".json", *more)
    assert refused.returncode != 0
    assert "X.json" in refused.stderr
    assert not acts(refused.stdout + refused.stderr)


@pytest.mark.parametrize("kind", GIVEN, ids=lambda kind: kind.name)
def test_the_sentence_about_a_bad_file_repeats_its_name_without_its_escapes(
    here: Machine, kind: BadText
) -> None:
    # A name has at most 255 bytes, and no slash.
    name = kind.text.replace("/", "").encode()[:200].decode("utf-8", "ignore")
    bad = here.write(f"{name}.toml", "[[[")
    good = here.write("named.toml", chapter_script("Named", 1))
    for command in (
        ("play", bad),
        ("play", good, "--provider", "scripted", "--replies", bad),
    ):
        refused = here.call(*command)
        assert refused.returncode != 0
        assert "Before it" in refused.stderr
        assert not acts(refused.stdout + refused.stderr)


def test_a_terminal_gets_only_the_program_s_own_colours(here: Machine) -> None:
    named = "".join(kind.text for kind in GIVEN)
    with GameMaster(here, program=(PROGRAM, "import", named)) as window:
        window.wait_for(lambda: b"nothing was changed" in window.received)
        sent = bytes(window.received).decode()
    # The sentence is bold and red, and a terminal ends its lines with both characters.
    assert not acts(re.sub("\x1b\\[(?:1;31|0)?m", "", sent).replace("\r\n", "\n"))


SEQUENCE = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # colours, cursor, modes
    "|\x1b[]P^_X][^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)?"  # titles, the clipboard, links, pictures
    "|\x1b[ -/]*[0-Z\\\\^-~]"
    "|[\x80-\x9f]"
)
"""Anything that a terminal acts on, but for the control characters of one byte."""
BAD = " ".join(kind.text for kind in GIVEN if not kind.is_legitimate)
HARMLESS = clean(BAD)
PAGES = (
    ("f2", "World"),
    ("f3", "The chapter has ended"),
    ("f4", "How to write it"),
)


def names_of(text: str) -> list[str]:
    """Return the text in pieces, each short enough for the name of a block or a model."""
    length = LONGEST_BLOCK_NAME - len("99 ")
    return [
        f"{number} {text[at : at + length]}" for number, at in enumerate(range(0, len(text), length), start=1)
    ]


@contextmanager
def model_server(models: list[str]) -> Iterator[int]:
    """Serve the list of these models at a port of this machine."""
    body = json.dumps({"data": [{"id": name} for name in models]}).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = Thread(target=server.serve_forever)
        serving.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            serving.join()


def chapter_of(here: Machine, text: str) -> Machine:
    """Play a chapter in which everything that the GM or a model writes is this text."""
    told = json.dumps(text)
    blocks = "".join(
        f"[[block]]\nname = {json.dumps(name)}\ntext = {told}\non = false\n" for name in names_of(text)
    )
    script = here.write(
        "bad.toml",
        f"world = {told}\nchapter = {told}\nnarrative = {told}\n"
        f"[[agent]]\nname = 'Kara'\nidentity = {told}\n[[prompt]]\ntext = {told}\n{blocks}",
    )
    replies = here.write("bad-replies.toml", f'[[reply]]\nmatch = {{ schema = "text" }}\ntext = {told}\n')
    here.lines("play", script, "--provider", "scripted", "--replies", replies, "--out", here.out)
    return here


def seen_at_full_screen(text: str) -> bytes:
    """Return every byte that a terminal gets on a tour of a chapter, blocks and models made of this text."""
    with warm_machine() as (here, _), model_server([*names_of(text), "the-last-model"]) as port:
        environment = {"STORYENGINE_PROVIDER": "scripted", one_server.PORT: str(port)}
        home, main = chapter_of(here, text), one_server.__name__
        with GameMaster(home, environment, size=Size(120, 40), main=main) as window:
            window.wait_for("ended ·")
            for key, shown in PAGES:
                window.press(key)
                window.wait_for(shown)
                window.press("pagedown", "pageup")
            see_calls(window)
            see_chapters(window)
            see_prompt_blocks(window)
            see_found_models(window)
            window.leave()
            return bytes(window.received)


def see_calls(window: GameMaster) -> None:
    """Look at the calls that were made, and at one of them."""
    window.press("f7")
    window.wait_for("Outcome")
    window.press("pagedown", "pageup")
    window.press("enter")
    window.wait_for("Input SHA-256")
    window.press("escape")
    window.wait_for("3 Money")
    window.press("escape")
    window.wait_while("3 Money")


def see_chapters(window: GameMaster) -> None:
    """Look at the list of chapters."""
    window.press("f5")
    window.wait_for("Your chapters")
    window.press("pagedown", "pageup")
    window.press("escape")
    window.wait_while("Your chapters")


def see_prompt_blocks(window: GameMaster) -> None:
    """Look at the names of the prompt blocks, and at the name and the text of one."""
    # Esc and Ctrl+P that arrive as one read are Alt+Ctrl+P: wait until the Esc before was read.
    window.press("f3")
    window.wait_for("The chapter has ended")
    window.press("ctrl+p")
    window.wait_for("Search for commands")
    window.type("prompt b")
    window.wait_for("Your own rules")
    window.press("enter")
    window.wait_for("1 Before it")
    window.press("enter")
    window.wait_for("with the rules, behind")
    window.press("escape")
    window.wait_while("with the rules, behind")
    window.press("escape")
    window.wait_while("· variant")


def see_found_models(window: GameMaster) -> None:
    """Look at the models of a server of this machine, and take one of them over."""
    window.press("f6")
    window.wait_for("Who answers")
    window.press("f4")
    window.wait_for("the-last-model")
    window.press("enter")
    window.wait_for("An OpenAI-compatible service")
    window.press("escape")
    window.wait_while("Who answers")


def test_at_full_screen_no_escape_of_a_chapter_s_text_reaches_the_terminal() -> None:
    ours = set(SEQUENCE.findall(seen_at_full_screen(HARMLESS).decode()))
    sent = seen_at_full_screen(BAD).decode()
    theirs = set(SEQUENCE.findall(BAD)) - ours
    assert len(theirs) > 10, "the text has escapes that the program does not use"
    assert [sequence for sequence in theirs if sequence in sent] == []
    assert "Before it" in sent, "the text was on the screen"
    assert not re.search("[\x00-\x06\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]", sent)
