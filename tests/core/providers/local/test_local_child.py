"""The settings of the server that runs the bundled model; the real one is asked in `test_local`."""

import io
import json
import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from core.providers.local.child import MISSING_RUNTIME, UNUSABLE_MODEL, _parameters, main


class Anything(SimpleNamespace):
    """Takes any setting, as the runtime's own class does."""

    def __getattr__(self, name: str) -> "Anything":
        setattr(self, name, Anything())
        return vars(self)[name]  # type: ignore[no-any-return]  # just set above


CONFIG = {
    "model_path": "models/a.gguf",
    "alias": "small",
    "api_key": "secret",
    "context_window": 4_096,
    "threads": 3,
}


@pytest.fixture
def settings() -> Any:
    return _parameters(SimpleNamespace(CommonParams=Anything), CONFIG)


def test_the_server_is_reached_from_this_machine_alone_and_only_with_its_key(settings: Any) -> None:
    assert settings.hostnames == ["127.0.0.1"]
    assert settings.port == 0, "the system chooses one that is free"
    assert settings.api_keys == ["secret"]
    assert settings.ui is False
    assert settings.offline is True, "it fetches nothing"


def test_the_server_runs_the_model_that_was_asked_for_and_reads_as_much_as_was_configured(
    settings: Any,
) -> None:
    assert (settings.model.path, settings.model_alias) == ("models/a.gguf", {"small"})
    assert (settings.n_ctx, settings.fit_params) == (4_096, False)
    assert (settings.cpuparams.n_threads, settings.cpuparams_batch.n_threads) == (3, 3)


def test_one_call_at_a_time_which_can_be_stopped_between_small_batches(settings: Any) -> None:
    assert settings.n_parallel == 1
    assert settings.n_batch == settings.n_ubatch <= 512


def test_a_model_for_vectors_reads_each_text_in_one_batch_and_keeps_nothing_of_it() -> None:
    config = {**CONFIG, "context_window": 512, "is_for_embeddings": True}
    settings: Any = _parameters(SimpleNamespace(CommonParams=Anything), config)
    assert settings.embedding is True
    assert settings.n_ctx == settings.n_batch == settings.n_ubatch == 512
    assert settings.cache_ram_mib == 0


def test_what_was_read_of_a_chat_is_kept_while_a_summary_runs(settings: Any) -> None:
    assert settings.cache_ram_mib >= 256


class Ended(BaseException):
    """The child would have ended with this status."""

    def __init__(self, status: int) -> None:
        self.status = status


class Child:
    """Runs the child's own function here: the operating system is replaced, and so is the runtime."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.redirected: list[tuple[int, int]] = []
        self.written: list[tuple[int, bytes]] = []
        self.stdin = io.StringIO(json.dumps(CONFIG) + "\nand more")
        self.stderr = io.StringIO()
        self._monkeypatch = monkeypatch

    def run(self, runtime: object) -> int:
        """Return the status with which it ends, with this runtime; None is one that is not installed."""
        with self._monkeypatch.context() as patched:
            patched.setattr(sys, "stdin", self.stdin)
            patched.setattr(sys, "stderr", self.stderr)
            patched.setattr(os, "dup", lambda handle: handle + 100)
            patched.setattr(os, "dup2", lambda source, target: self.redirected.append((source, target)))
            patched.setattr(os, "write", lambda handle, data: self.written.append((handle, data)))
            patched.setattr(os, "_exit", self._end)
            patched.setitem(sys.modules, "xllamacpp", runtime)
            with pytest.raises(Ended) as ended:
                main()
        return ended.value.status

    def _end(self, status: int) -> None:
        raise Ended(status)


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> Child:
    return Child(monkeypatch)


def test_the_child_says_where_it_answers_and_serves_until_its_input_is_closed(child: Child) -> None:
    server = SimpleNamespace(listening_address="http://127.0.0.1:4711")
    runtime = SimpleNamespace(CommonParams=Anything, Server=lambda parameters: server)
    assert child.run(runtime) == 0
    assert child.redirected == [(2, 1)], "what the runtime prints goes to the log"
    assert child.written == [(101, b'{"base_url": "http://127.0.0.1:4711/v1"}\n')]
    assert child.stdin.read() == "", "it has waited for the end of its input"


def test_the_status_of_the_child_says_whether_the_runtime_or_the_model_is_missing(child: Child) -> None:
    def refuse(parameters: object) -> None:
        raise RuntimeError("no such model")

    assert child.run(None) == MISSING_RUNTIME
    assert not child.written
    child.stdin.seek(0)
    assert child.run(SimpleNamespace(CommonParams=Anything, Server=refuse)) == UNUSABLE_MODEL
    assert child.stderr.getvalue().endswith("RuntimeError: no such model\n")
