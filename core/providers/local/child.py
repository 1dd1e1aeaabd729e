"""The child process of the provider `local`: serves one GGUF on a random loopback port (design 8).

Run as a script. One line of JSON on stdin says what to serve and under which key, which therefore is on
no command line; one line on stdout says where. It ends when stdin closes, that is, when its parent does,
however that came about. Imported by nothing, and the only file that imports `xllamacpp`.
"""

import json
import os
import sys
from typing import Any

MISSING_RUNTIME = 3
"""Exit status when `xllamacpp` cannot be imported."""
UNUSABLE_MODEL = 4
"""Exit status when the runtime does not take the file."""

_BATCH = 256
"""Small, because a call can only be cancelled between two batches."""
_CACHE_MIB = 512
"""Holds the chat while a summary runs in between; without it the next prompt is evaluated from the start."""


def main() -> None:
    """Serve until stdin closes."""
    config = json.loads(sys.stdin.readline())
    announcement = os.dup(1)
    os.dup2(2, 1)  # whatever the runtime prints belongs in the log
    try:
        import xllamacpp  # type: ignore[import-untyped]  # a compiled module
    except ImportError as error:
        _leave(MISSING_RUNTIME, error)
    try:
        server = xllamacpp.Server(_parameters(xllamacpp, config))
    except (RuntimeError, ValueError, OSError) as error:
        _leave(UNUSABLE_MODEL, error)
    line = json.dumps({"base_url": f"{server.listening_address}/v1"}) + "\n"
    os.write(announcement, line.encode())
    sys.stdin.read()
    os._exit(0)  # the server's destructor can hang


def _parameters(xllamacpp: Any, config: dict[str, Any]) -> Any:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = config["model_path"]
    parameters.model_alias = {config["alias"]}
    parameters.hostnames, parameters.port = ["127.0.0.1"], 0
    parameters.api_keys = [config["api_key"]]
    parameters.ui = False
    parameters.n_ctx, parameters.n_parallel = config["context_window"], 1
    parameters.n_batch = parameters.n_ubatch = _BATCH
    parameters.cache_ram_mib = _CACHE_MIB
    if config.get("is_for_embeddings"):
        parameters.embedding, parameters.cache_ram_mib = True, 0
        # A text must fit into one batch, because its vector is made of all of its tokens.
        parameters.n_batch = parameters.n_ubatch = config["context_window"]
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = config["threads"]
    parameters.fit_params, parameters.offline = False, True
    parameters.verbosity = -1
    return parameters


def _leave(status: int, error: Exception) -> None:
    sys.stderr.write(f"{type(error).__name__}: {error}\n")
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
