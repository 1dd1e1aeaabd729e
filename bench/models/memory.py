"""Measures how much of play a delta of the bundled model covers, for the first prompts of each example.

    python -m bench.models.memory [--prompts 7] [--examples 3]

The chunk is the GM's first prompts of an example, each also said by the character that it goes to, so that
no reply has to be written first. Counted are the entries of each list, and the share of their texts that
stand literally in the chunk. A line is printed as soon as an example is done.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bench import synthetic_sessions
from core.agents.context_builder import ContextBuilder
from core.agents.memory import context_summary
from core.config.files.paths import Paths
from core.config.models.accounts import own_account
from core.config.models.assignments import choose_models
from core.config.models.model_config import PromptStyle
from core.config.sections import ProfileSettings
from core.context.visibility import Story, known_to_gm
from core.domain.agent_role import AgentRole
from core.domain.ids import EventId, SessionId, new_uuid
from core.domain.prompt_range import PromptRange
from core.domain.session.session import Session
from core.domain.slot import Slot
from core.domain.story.event import Event, Role
from core.exchange.scripts.chapter_script import ChapterScript, load_chapter_script
from core.gateway.model_call import model_request
from core.providers.base import Completion, Provider, TextDelta
from core.providers.factory import make_provider

EXAMPLES = Path(__file__).parents[2] / "examples"
COUNTED = ("state_changes", "items_clues_discovered", "unresolved_threads")


def played(script: ChapterScript, prompts: int) -> tuple[Session, list[Event]]:
    """Return the first `prompts` prompts of an example as if they had been played."""
    session_id = SessionId(new_uuid())
    session = replace(
        synthetic_sessions.session(session_id, prompts),
        slots=tuple(one.slot for one in script.cast),
        names=script.names,
    )
    events = [
        _event(session_id, index, slot, prompt.text)
        for index, prompt in enumerate(script.prompts[:prompts], start=1)
        for slot in (None, prompt.slot)
    ]
    return session, events


def _event(session_id: SessionId, index: int, slot: Slot | None, text: str) -> Event:
    return Event(
        id=EventId(new_uuid()),
        session_id=session_id,
        prompt_index=index,
        ordinal=0 if slot is None else 1,
        role=Role.USER if slot is None else Role.AGENT,
        slot=slot,
        text=text,
        created_at=datetime.now(UTC),
    )


async def delta_of(
    provider: Provider, script: ChapterScript, prompts: int
) -> tuple[Mapping[str, object], str, Completion]:
    """Return the delta that the model makes of an example, the text that it was made of, and how it ended."""
    choices = choose_models(ProfileSettings(provider="local"))
    session, events = played(script, prompts)
    chunk = PromptRange(1, prompts)
    context = ContextBuilder(choices).summary(known_to_gm(Story(session, (), events)), chunk)
    request = model_request(context, choices[AgentRole.CONTEXT_SUMMARY])
    items = [item async for item in provider.stream(request)]
    text = "".join(item.text for item in items if isinstance(item, TextDelta))
    ended = next(item for item in items if isinstance(item, Completion))
    source = " ".join(event.text for event in events)
    made = context_summary.parse(text, session, chunk, len(source), PromptStyle.SMALL)
    return made.payload, " ".join(source.split()), ended


def texts(value: object) -> Iterator[str]:
    """Yield every text of a value but empty ones."""
    if isinstance(value, str) and value:
        yield value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for one in inner:
        yield from texts(one)


async def measure(prompts: int, examples: int) -> None:
    """Print a line for each of the first `examples` examples."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        paths = Paths(data=home, config=home, logs=home, downloads=home)
        profile = ProfileSettings(provider="local")
        provider = make_provider(own_account(profile, "local"), paths, choose_models(profile))
        try:
            for path in sorted(EXAMPLES.glob("*.toml"))[:examples]:
                began = time.monotonic()
                payload, source, ended = await delta_of(provider, load_chapter_script(path), prompts)
                seconds = f"{time.monotonic() - began:.0f} s"
                tokens = f"{ended.usage.output_tokens} tokens ({ended.finish_reason})"
                print(f"{path.stem}: {_counts(payload, source)}; {tokens}, {seconds}", flush=True)
        finally:
            await provider.aclose()


def _counts(payload: Mapping[str, object], source: str) -> str:
    """Return how many entries each counted list has, and how many of their texts stand in `source`."""
    entries = {key: _list(payload[key]) for key in COUNTED}
    found = list(texts([{**one, "who_found": ""} for value in entries.values() for one in value]))
    counts = ", ".join(f"{key} {len(value)}" for key, value in entries.items())
    return f"{counts}; literal {sum(text in source for text in found)} of {len(found)} texts"


def _list(value: object) -> list[dict[str, object]]:
    return value if isinstance(value, list) else []


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m bench.models.memory")
    parser.add_argument("--prompts", type=int, default=7, choices=range(1, 8), help="1 to 7 of each example")
    parser.add_argument("--examples", type=int, default=3, choices=range(1, 4), help="how many examples")
    options = parser.parse_args()
    asyncio.run(measure(options.prompts, options.examples))


if __name__ == "__main__":
    main()
