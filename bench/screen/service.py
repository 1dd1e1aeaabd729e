"""A service to talk to, for programs that have to have one: every reply comes at the same pace.

    python -m bench.screen.service

It prints its port, and answers as OpenAI's chat completions and as Ollama do, on this machine alone. It is a
process of its own, so that what it costs is counted with nobody's.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle, islice

from bench.screen.stage import LAST_WORD, ROOT, SENTENCE

TOKENS, RATE = 300, 60
"""Tokens of a reply, and tokens a second."""
MODEL = "bench"
_AT = "2026-01-01T00:00:00Z"
_FILE = {
    "parent_model": "",
    "format": "gguf",
    "family": MODEL,
    "families": [MODEL],
    "parameter_size": "1B",
    "quantization_level": "Q8_0",
}
_TAG = {"name": MODEL, "model": MODEL, "modified_at": _AT, "size": 1, "digest": "0" * 64, "details": _FILE}


@contextmanager
def service() -> Iterator[int]:
    """Run the service meanwhile; give its port."""
    command = [sys.executable, "-m", "bench.screen.service"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def tokens() -> Iterator[str]:
    """Give the words of a reply when they are due."""
    began = time.monotonic()
    words = (*islice(cycle(SENTENCE.split()), TOKENS - 1), LAST_WORD)
    for number, word in enumerate(words):
        time.sleep(max(began + number / RATE - time.monotonic(), 0))
        yield f"{word} "


class Answers(BaseHTTPRequestHandler):
    """Answers one client."""

    def do_GET(self) -> None:
        """Say which models there are."""
        match self.path.rstrip("/").rsplit("/", 1)[-1]:
            case "tags" | "ps":
                self._whole({"models": [_TAG]})
            case "models":
                self._whole({"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0}]})
            case _:
                self._whole({"version": "0.12.0"})

    def do_POST(self) -> None:
        """Reply."""
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if self.path.endswith("/completions"):
            self._openai(streams=bool(asked.get("stream")))
        elif self.path.endswith("/chat"):
            self._ollama(streams=bool(asked.get("stream", True)))
        else:
            self._whole({"capabilities": ["completion"], "details": {}, "model_info": {}, "parameters": ""})

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the table is all that is printed."""

    def _openai(self, *, streams: bool) -> None:
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": MODEL}
        if not streams:
            message = {"role": "assistant", "content": LAST_WORD}
            self._whole({**chunk, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
            return
        self._begin("text/event-stream")
        for token in tokens():
            choice = {"index": 0, "delta": {"role": "assistant", "content": token}, "finish_reason": None}
            self._send(f"data: {json.dumps({**chunk, 'choices': [choice]})}\n\n")
        end = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        self._send(f"data: {json.dumps(end)}\n\ndata: [DONE]\n\n")

    def _ollama(self, *, streams: bool) -> None:
        line = {"model": MODEL, "created_at": _AT}
        if streams:
            self._begin("application/x-ndjson")
            for token in tokens():
                part = {**line, "message": {"role": "assistant", "content": token}, "done": False}
                self._send(f"{json.dumps(part)}\n")
        end = {"message": {"role": "assistant", "content": "" if streams else LAST_WORD}, "done": True}
        whole = {**line, **end, "done_reason": "stop", "eval_count": TOKENS, "prompt_eval_count": 1}
        if streams:
            self._send(f"{json.dumps(whole)}\n")
        else:
            self._whole(whole)

    def _begin(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()

    def _send(self, text: str) -> None:
        self.wfile.write(text.encode())

    def _whole(self, content: object) -> None:
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        print(server.server_address[1], flush=True)
        server.serve_forever()
