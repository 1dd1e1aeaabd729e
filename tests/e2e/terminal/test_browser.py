"""Served in a browser: the program speaks Textual's packets with its server, and hands over the chapter."""

import json
import queue
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pyte
import pytest
from textual._binary_encode import load

from tests.e2e.program import PATIENCE, PROGRAM, Machine, chapter_script, warm_machine
from tests.e2e.terminal.game_master import GameMaster
from tests.terminal import KEYS, Size

BEGIN = b"__GANGLION__\n"
CHUNK = 4_096


class Browser:
    """A page on which the program is served; what it shows, and the files that it was given."""

    def __init__(self, here: Machine, size: Size, **environment: str) -> None:
        sizes = {"COLUMNS": str(size.columns), "ROWS": str(size.rows)}
        driver = {"TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver"}
        # Not forked: Textual looks for its driver when it is imported.
        self.process = subprocess.Popen(
            [PROGRAM],
            cwd=here.work,
            env={**here.environment, **sizes, **driver, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.screen = pyte.Screen(size.columns, size.rows)
        self._stream = pyte.ByteStream(self.screen)
        self._packets: queue.SimpleQueue[tuple[str, bytes] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._read, name="browser", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)
        self._thread.join(PATIENCE)

    @property
    def text(self) -> str:
        """What stands on the page."""
        return "\n".join(self.screen.display)

    def press(self, key: str) -> None:
        """Press a key."""
        self._send(b"D", KEYS.get(key, key).encode())

    def click(self, wanted: str) -> None:
        """Click on what stands on the page."""
        self.wait_for(wanted)
        [(x, y)] = [(row.find(wanted), y) for y, row in enumerate(self.screen.display) if wanted in row]
        for end in "Mm":
            self.press(f"\x1b[<0;{x + 1};{y + 1}{end}")

    def tell(self, **said: object) -> None:
        """Say something that is no key, as the server of the page does."""
        self._send(b"M", json.dumps(said).encode())

    def wait_for(self, wanted: str) -> None:
        """Wait until it stands on the page."""
        while wanted not in self.text:
            self._next()

    def wait_for_word(self, kind: str) -> dict[str, Any]:
        """Wait until the program says something of this kind beside what it shows."""
        while True:
            packet, payload = self._next()
            if packet == "M" and (said := json.loads(payload)).get("type") == kind:
                return dict(said)

    def fetch(self, key: object) -> bytes:
        """Fetch a file that is delivered, piece by piece, to its end."""
        pieces: list[bytes] = []
        while True:
            self.tell(type="deliver_chunk_request", key=key, size=CHUNK)
            while (packet := self._next())[0] != "P":
                pass
            match load(packet[1]):
                case ("deliver_chunk", found, str() | bytes() as piece) if found == key:
                    if not piece:
                        return b"".join(pieces)
                    pieces.append(piece.encode() if isinstance(piece, str) else piece)

    def _send(self, kind: bytes, payload: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(kind + len(payload).to_bytes(4, "big") + payload)
        self.process.stdin.flush()

    def _next(self) -> tuple[str, bytes]:
        """Take in the next packet; what is to be shown is on the page after it."""
        try:
            packet = self._packets.get(timeout=PATIENCE)
        except queue.Empty:
            raise AssertionError(f"nothing came within {PATIENCE:.0f} s:\n{self.text}") from None
        assert packet is not None, f"the program ended:\n{self.text}"
        if packet[0] == "D":
            self._stream.feed(packet[1])
        return packet

    def _read(self) -> None:
        assert self.process.stdout is not None
        page = self.process.stdout
        if page.read(len(BEGIN)) == BEGIN:
            while len(head := page.read(5)) == 5:
                payload = page.read(int.from_bytes(head[1:], "big"))
                self._packets.put((chr(head[0]), payload))
        self._packets.put(None)


@pytest.fixture(scope="module")
def played() -> Iterator[Machine]:
    """A machine on which a chapter was played to its draft."""
    with warm_machine() as (here, _):
        script = here.write("served.toml", chapter_script("Served", 2))
        here.lines("play", script, "--provider", "scripted", "--out", here.out)
        yield here


@contextmanager
def served(here: Machine) -> Iterator[Browser]:
    with Browser(here, Size(100, 40), STORYENGINE_PROVIDER="scripted") as page:
        page.wait_for("Draft 1")
        page.tell(type="focus")
        page.wait_for("F1 Help")
        yield page


def test_a_chapter_is_downloaded_and_what_is_typed_is_there_after_the_window_was_closed(
    played: Machine,
) -> None:
    [written] = played.out.glob("*.txt")
    with served(played) as page:
        page.press("f9")
        offered = page.wait_for_word("deliver_file_start")
        assert str(offered["path"]).endswith(written.name)
        assert page.fetch(offered["key"]) == written.read_bytes()
        assert list((played.root / "home").rglob("*.txt")) == [], "nothing is left where the server runs"
        page.click("Left empty")
        page.press("In the voice of the sea.")
        page.wait_for("voice of the sea.")
        page.tell(type="quit")
        page.wait_for_word("exit")
    with served(played) as page:
        page.wait_for("In the voice of the sea.")


def test_a_password_is_asked_for_in_the_browser_before_anything_shows(
    played: Machine, tmp_path: Path
) -> None:
    guarded = {"STORYENGINE_CONFIG_DIR": str(tmp_path / "config"), "STORYENGINE_PROVIDER": "scripted"}
    with GameMaster(played, guarded, program=(PROGRAM, "password")) as window:
        for asked in ("New password", "New password, once more"):
            window.type_hidden(asked, "open, sesame")
        window.wait_for("The password is set.")
    with Browser(played, Size(100, 40), **guarded) as page:
        page.wait_for("Story Engine is locked.")
        page.tell(type="focus")
        page.press("open, sesame")
        page.press("enter")
        page.wait_for("Download Chapter")
