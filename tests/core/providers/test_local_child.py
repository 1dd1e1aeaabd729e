"""The settings of the server that runs the bundled model; the real one is asked in `test_local`."""

from types import SimpleNamespace

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
SETTINGS = _parameters(SimpleNamespace(CommonParams=Anything), CONFIG)


def test_the_server_is_reached_from_this_machine_alone_and_only_with_its_key() -> None:
    assert SETTINGS.hostnames == ["127.0.0.1"]
    assert SETTINGS.port == 0, "the system chooses one that is free"
    assert SETTINGS.api_keys == ["secret"]
    assert SETTINGS.ui is False
    assert SETTINGS.offline is True, "it fetches nothing"


def test_the_server_runs_the_model_that_was_asked_for_and_reads_as_much_as_was_configured() -> None:
    assert (SETTINGS.model.path, SETTINGS.model_alias) == ("models/a.gguf", {"small"})
    assert (SETTINGS.n_ctx, SETTINGS.fit_params) == (4_096, False)
    assert (SETTINGS.cpuparams.n_threads, SETTINGS.cpuparams_batch.n_threads) == (3, 3)


def test_one_call_at_a_time_which_can_be_stopped_between_small_batches() -> None:
    assert SETTINGS.n_parallel == 1
    assert SETTINGS.n_batch == SETTINGS.n_ubatch <= 512


def test_what_was_read_of_a_chat_is_kept_while_a_summary_runs() -> None:
    assert SETTINGS.cache_ram_mib >= 256
