"""A service that stands in for a good model: varied prose in the first person, from `good_prose.txt`.

    python -m bench.voices.good_service

It prints its port and answers OpenAI's chat completions on this machine alone: memory with the least JSON
that is valid, a chapter with the third-person part of the file, and each reply with the next paragraph of the
first-person part. It shows what the measures say of good replies, and that nothing is asked twice.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from pathlib import Path
from typing import Any

from core.providers.scripted.synthetic import json_from_schema

PROSE = Path(__file__).with_name("good_prose.txt")
ROOT = Path(__file__).parents[2]


@contextmanager
def good_service() -> Iterator[str]:
    """Run the service meanwhile; give its address."""
    command = [sys.executable, "-m", "bench.voices.good_service"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.terminate()


def read_prose() -> tuple[list[str], str]:
    """Return the replies and the chapter that stand in the file."""
    replies, chapter = PROSE.read_text("utf-8").split("\n---\n")
    return replies.strip().split("\n\n"), chapter.strip()


class _Answers(BaseHTTPRequestHandler):
    """Answers one client."""

    replies: Iterator[str]
    chapter: str

    def do_POST(self) -> None:
        """Stream an answer of one piece."""
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for delta, finish in (({"content": self._text(asked)}, None), ({}, "stop")):
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": asked["model"]}
            self.wfile.write(f"data: {json.dumps({**chunk, 'choices': [choice]})}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def _text(self, asked: dict[str, Any]) -> str:
        form = asked.get("response_format")
        if form is not None:
            return json.dumps(json_from_schema(form["json_schema"]["schema"], "bench"))
        is_chapter = "FULL_TRANSCRIPT" in asked["messages"][-1]["content"]
        return self.chapter if is_chapter else next(self.replies)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the port is all that is printed."""


def main() -> None:
    """Serve until it is ended."""
    replies, _Answers.chapter = read_prose()
    _Answers.replies = cycle(replies)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        print(server.server_address[1], flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
