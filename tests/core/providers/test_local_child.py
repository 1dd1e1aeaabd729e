"""The settings of the server that runs the bundled model; the real one is asked in `test_local`."""

from types import SimpleNamespace
from typing import Any

import pytest

from core.providers.local_child import _parameters


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


def test_what_was_read_of_a_chat_is_kept_while_a_summary_runs(settings: Any) -> None:
    assert settings.cache_ram_mib >= 256
