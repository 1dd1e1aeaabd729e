"""A short run of the queue: one window killed, one closed, one pause; `make torture` takes thousands."""

import asyncio
import os
import random
from collections.abc import Iterator

import pytest

from tests.store.servers import cloned
from tests.torture.queue.run import SHORT, torture_queue

SEED = int(os.environ.get("STORYENGINE_TORTURE_SEED", random.SystemRandom().randrange(10**6)))


@pytest.fixture
def url(private_template: str) -> Iterator[str]:
    yield from cloned(private_template)


@pytest.mark.slow
def test_every_request_is_settled_once_in_its_order_whatever_happens_to_the_windows(url: str) -> None:
    print(f"seed {SEED}; STORYENGINE_TORTURE_SEED sets another")
    run, figures = asyncio.run(torture_queue(url, SHORT, SEED))
    print(figures)
    assert (run.kills, run.restarts, run.pauses, figures.lost) == (1, 1, 1, 0)
    assert figures.requests >= SHORT.requests
    assert set(figures.kinds) == {"lock", "reply", "summary", "narrative", "assist", "afterthought"}
