"""The log says what went wrong, and not where each call went."""

import logging
from pathlib import Path

import pytest
from pydantic import SecretStr

from core.config.files.paths import Paths
from core.providers.openai.provider import OpenAIProvider
from storyengine_tui.cli.printing import LOG_NAME, start_log
from tests.core.providers.asking import ask
from tests.http_faults import FaultServer

pytestmark = pytest.mark.anyio


async def test_the_log_has_no_line_for_each_call_of_a_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = logging.getLogger()
    level = root.level
    monkeypatch.setattr(root, "handlers", [])
    try:
        start_log(Paths(*[tmp_path] * 4))
        async with FaultServer() as server:
            provider = OpenAIProvider(base_url=server.base_url, find_key=lambda: SecretStr("k"))
            await ask(provider)
            await provider.aclose()
        root.info("the end")
    finally:
        root.setLevel(level)
        for handler in root.handlers:
            handler.close()
    assert (tmp_path / LOG_NAME).read_text().endswith(" INFO root: the end\n")
    assert (tmp_path / LOG_NAME).read_text().count("\n") == 1
