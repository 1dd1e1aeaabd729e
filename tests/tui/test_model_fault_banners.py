"""Tab 2 after every fault of a model: what the banner says, and that the text is back where it was typed."""

import os

import pytest

from core.errors import ErrorCode
from core.providers.script import Entry, Fault, Match, Script
from tests.tui.engine_app import Desktop
from tests.tui.engine_app import desktop as desktop
from tests.tui.engine_app import screen_template as screen_template
from tests.tui.play_table import Table, at_table
from tests.tui.play_table import gate as gate

pytestmark = pytest.mark.anyio

SENTENCES = {
    Fault.TIME_OUT: ErrorCode.LLM_TIMEOUT.sentence,
    Fault.RATE_LIMITED: ErrorCode.LLM_RATE_LIMITED.sentence,
    Fault.AUTH: ErrorCode.LLM_AUTH_ERROR.sentence,
    Fault.CREDIT_EXHAUSTED: ErrorCode.LLM_CREDIT_EXHAUSTED.sentence,
    Fault.SERVER_ERROR: ErrorCode.LLM_SERVER_ERROR.sentence,
    Fault.REQUEST_ERROR: ErrorCode.LLM_REQUEST_ERROR.sentence,
    Fault.CONTEXT_OVERFLOW: ErrorCode.LLM_CONTEXT_OVERFLOW.sentence,
    Fault.CUT: "The connection to the model's service broke off within the answer",
    Fault.EMPTY: "The model returned an empty answer",
    Fault.WHITE_SPACE: "The model answered with nothing that can be seen",
    Fault.REASONING_ONLY: "The model thought, but did not write an answer",
    Fault.TRUNCATED: ErrorCode.LLM_TRUNCATED.sentence,
    Fault.CONTENT_FILTERED: ErrorCode.LLM_CONTENT_FILTERED.sentence,
}
"""What the banner says after each fault that a reply can meet; a hang ends as a time-out does."""


IS_WHOLE = os.environ.get("STORYENGINE_TORTURE") == "full"
SHOWN = SENTENCES if IS_WHOLE else dict(list(SENTENCES.items())[2::4])
"""All of them in `make torture`."""


def script() -> Script:
    faults = (
        Entry(match=Match(schema="text", last=f"now {number}."), fault=fault, times=1)
        for number, fault in enumerate(SHOWN, start=1)
    )
    return Script(reply=(*faults, Entry(match=Match(schema="text"), text="I see.")))


async def meet(table: Table, number: int, sentence: str) -> None:
    """Send a prompt that fails, look at the screen, and send it again."""
    slot, before, text = table.slot(), table.transcript.text, f"now {number}."
    await table.send(text)
    await table.until(table.banner, f"no banner: {sentence}")
    name = table.stored.name_of(slot)
    assert f"{int(slot)} {name} did not answer." in table.banner()
    assert sentence in table.banner()
    assert f"Your text is back in the panel of {int(slot)} {name}." in table.banner()
    assert (table.slot(), table.text(slot)) == (slot, text)
    assert table.transcript.text == before, "no prompt was numbered"
    await table.pilot.press("ctrl+r")
    await table.until(lambda: table.played(number))
    await table.until(lambda: table.stored.unsummarised != 7 and not table.snapshot.requests)
    assert table.banner() == ""
    assert table.text(slot) == ""


async def test_the_banner_names_every_fault_and_the_text_waits_in_its_panel(
    desktop: Desktop,
) -> None:
    desktop.script = script()
    async with at_table(desktop) as table:
        for number, sentence in enumerate(SHOWN.values(), start=1):
            await meet(table, number, sentence)
        texts = [event.text for event in await table.events() if event.ordinal == 0]
        assert texts == [f"now {number}." for number in range(1, len(SHOWN) + 1)]
