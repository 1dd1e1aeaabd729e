"""How much of what was played is in a delta of the bundled model, for the first prompts of each example.

    python -m bench.memory

The chunk is the GM's first prompts of an example, each also said by the character that it goes to, so that
no reply has to be written first. Counted are the entries of each list, and the share of their texts that
stand literally in the chunk.
"""

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bench import made_up
from core.agents import context_summary
from core.chapter_script import ChapterScript, load_chapter_script
from core.consent import Consent
from core.context import ContextBuilder
from core.engine.call import model_request
from core.event import Event, Role
from core.ids import EventId, SessionId, new_uuid
from core.model_choice import AgentRole, PromptStyle, choose_models
from core.paths import Paths
from core.prompt_range import PromptRange
from core.providers.base import Provider, TextDelta
from core.providers.make import make_provider
from core.session import Session
from core.settings import ProfileSettings
from core.slot import Slot

EXAMPLES = Path(__file__).parents[1] / "examples"
PROMPTS = 3
COUNTED = ("state_changes", "items_clues_discovered", "unresolved_threads")


def played(script: ChapterScript) -> tuple[Session, list[Event]]:
    """Return the first prompts of an example as if they had been played."""
    session_id = SessionId(new_uuid())
    session = replace(made_up.session(session_id, PROMPTS), slots=script.slots, names=script.names)
    events = [
        _event(session_id, index, slot, prompt.text)
        for index, prompt in enumerate(script.prompts[:PROMPTS], start=1)
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


async def delta_of(provider: Provider, script: ChapterScript) -> tuple[Mapping[str, object], str]:
    """Return the delta that the model makes of an example, and the text that it was made of."""
    choices = choose_models(ProfileSettings(provider="local"))
    session, events = played(script)
    chunk = PromptRange(1, PROMPTS)
    context = ContextBuilder(choices).summary(session, (), chunk, events)
    request = model_request(context, choices[AgentRole.CONTEXT_SUMMARY])
    text = "".join([item.text async for item in provider.stream(request) if isinstance(item, TextDelta)])
    source = " ".join(event.text for event in events)
    made = context_summary.parse(text, session, chunk, len(source), PromptStyle.SMALL)
    return made.payload, " ".join(source.split())


def texts(value: object) -> Iterator[str]:
    """Yield every text of a value but empty ones."""
    if isinstance(value, str) and value:
        yield value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for one in inner:
        yield from texts(one)


async def measure() -> None:
    """Print a line for each example."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        paths = Paths(data=home, config=home, logs=home, downloads=home)
        provider = make_provider(ProfileSettings(provider="local"), paths, Consent((), paths.consent_file))
        for path in sorted(EXAMPLES.glob("*.toml")):
            payload, source = await delta_of(provider, load_chapter_script(path))
            entries = {key: payload[key] for key in COUNTED}
            counts = ", ".join(
                f"{key} {len(list(filter(None, _list(value))))}" for key, value in entries.items()
            )
            found = list(
                texts(
                    {
                        key: [{**one, "who_found": ""} for one in _list(value)]
                        for key, value in entries.items()
                    }
                )
            )
            literal = sum(text in source for text in found)
            print(f"{path.stem}: {counts}; literal {literal} of {len(found)} texts")
        await provider.aclose()


def _list(value: object) -> list[dict[str, object]]:
    return value if isinstance(value, list) else []


if __name__ == "__main__":
    asyncio.run(measure())
