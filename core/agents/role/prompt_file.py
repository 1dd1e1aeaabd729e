"""System prompts are files, one for each role (or task of one) and style, read and rendered here alone.

A file begins with a front matter that names role, style and version. A table may follow that says which
rules of the role the prompt keeps; it ends with `---` and is not sent. What follows is the system prompt.
The short prompts of very small models go on with a cue that ends the input, because such a model follows
best what it read last, and with one example turn; each under a line of its own: `--- cue ---`,
`--- example input ---` and `--- example output ---`. A model that has room for more than the very smallest
gets `--- longer example output ---`; `{length}` is the header's `length`, for such a model its `longer`.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from core.config.models.model_config import ModelConfig, PromptStyle
from core.context.segments import Context, Segment, plain
from core.context.tokens import estimate_tokens
from core.domain.requests.request import Content
from core.text.analysis.repetition import Repeatable
from core.text.delimiters import SegmentName

SEGMENTS = frozenset(
    {SegmentName.SYSTEM_PROMPT, SegmentName.EXAMPLE_INPUT, SegmentName.EXAMPLE_OUTPUT, SegmentName.CUE}
)
"""The parts of an input that come from a prompt file: part of the program, and not shown with the GM's own.

Name, version, hash and tokens are, so that it is known what was sent. An export in JSON keeps the texts: it
is the whole provenance, and is read in again.
"""

PRINTED: Final = "`storyengine context … --with-system-prompt` prints its text."
EXPORTED: Final = "`storyengine export …` writes its text, as JSON."
_FRONT_MATTER = re.compile(r"\A---\n(?P<fields>.*?)\n---\n(?:(?:\|[^\n]*\n)+---\n)?(?P<body>.*)\Z", re.DOTALL)
_SECTION = re.compile(r"^--- (cue|example input|example output|longer example output) ---$", re.MULTILINE)
_ROOM: Final = 150
"""Tokens of output from which a model can write as much as the longer example."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemPrompt:
    """One prompt file. `example` is an input and the answer it should get, or None.

    `cue` ends the input; it may be empty, and `{name}` in it stands for the character.
    """

    role: str
    style: PromptStyle
    version: str
    text: str
    cue: str = ""
    example: tuple[str, str] | None = None

    @property
    def label(self) -> str:
        """The version that artifacts name, such as `character/full@1`."""
        return f"{self.role}/{self.style}@{self.version}"

    def cue_for(self, name: str) -> str:
        """Return the cue for the character called `name`."""
        return self.cue.replace("{name}", name)


def in_place_of_text(version: str, text: str, *, was_sent: bool = False) -> str:
    """Return a line shown in place of a prompt file's text, and where to read it.

    `version` is the label on the artifact. One that was sent may be of an earlier program or of another agent
    than a character, whose next input is all that `storyengine context` prints.
    """
    style = PromptStyle.SMALL if f"/{PromptStyle.SMALL}@" in version else PromptStyle.FULL
    where = EXPORTED if was_sent else PRINTED
    return (
        f"{version}, SHA-256 {Content.of(text).hash}, about {estimate_tokens(text, style):,} tokens. {where}"
    )


def prompt_for(role: str, choice: ModelConfig) -> SystemPrompt:
    """Return the prompt with which `role` is called as `choice` says."""
    return load_prompt(role, choice.style, has_room=choice.max_output_tokens >= _ROOM)


@cache  # A part of the program, which every input begins with.
def load_prompt(name: str, style: PromptStyle, *, has_room: bool = False, role: str = "") -> SystemPrompt:
    """Read the prompt `name` in `style`, of the role of that name unless one is given.

    Raises ValueError when its file is not well formed.
    """
    file = f"{name}.md" if style is PromptStyle.FULL else f"{name}.{style}.md"
    source = files("core.agents").joinpath("prompts", file).read_text(encoding="utf-8")
    return parse_prompt(source, role or name, style, has_room=has_room)


def parse_prompt(source: str, role: str, style: PromptStyle, *, has_room: bool = False) -> SystemPrompt:
    """Return the prompt in `source`; raise ValueError when it is not that of `role` and `style`."""
    parts = _FRONT_MATTER.match(source.replace("\r\n", "\n"))
    if parts is None:
        raise ValueError(f"the prompt of {role} has no front matter")
    lines = [line.partition(":") for line in parts["fields"].splitlines()]
    fields = {key.strip(): value.strip() for key, _, value in lines}
    if (fields.get("agent"), fields.get("style")) != (role, style.value) or not fields.get("version"):
        raise ValueError(f"the front matter of the prompt of {role} ({style}) says {fields}")
    length = fields.get("longer" if has_room else "length", "")
    text, *rest = _SECTION.split(parts["body"].replace("{length}", length))
    sections = dict(zip(rest[::2], map(str.strip, rest[1::2]), strict=True))
    answer = sections.get("example output", "")
    if has_room:
        answer = sections.get("longer example output", answer)
    example = (sections.get("example input", ""), answer)
    return SystemPrompt(
        role=role,
        style=style,
        version=fields["version"],
        text=text.strip(),
        cue=sections.get("cue", ""),
        example=example if all(example) else None,
    )


def render_prompt(prompt: SystemPrompt) -> tuple[Segment, ...]:
    """Return what every input of the role begins with: the system prompt, then the example turn."""
    system = plain(SegmentName.SYSTEM_PROMPT, prompt.text, prompt.style, "system")
    if prompt.example is None:
        return (system,)
    given, answer = prompt.example
    return (
        system,
        plain(SegmentName.EXAMPLE_INPUT, given, prompt.style, "user"),
        plain(SegmentName.EXAMPLE_OUTPUT, answer, prompt.style, "assistant"),
    )


def not_to_repeat(context: Context) -> list[Repeatable]:
    """Return the texts of a prompt file in an input, which its answer is not to repeat."""
    return [
        Repeatable("an example or a rule of its prompt", segment.text)
        for segment in context.segments
        if segment.name in SEGMENTS
    ]
