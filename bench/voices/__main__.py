"""Measures how the characters of each model sound.

    python -m bench.voices [--model …] [--style …] [--script …]

Plays the examples with a model of this machine, or with the stand-in for a good one that a service has, and
prints the measures of each style that is asked for, and of replies to the same inputs with a prefill. They
are written to `bench/results/voices/` as JSON, and beside them the played text, with the first page of the
chapter.
"""

import argparse
import asyncio
import json
import tempfile
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.measure import WIDTH
from bench.voices.good_service import good_service
from bench.voices.measures import Played, Voices, measure
from bench.voices.playing import play
from bench.voices.prefill import PREFILLS, ComparingProvider
from core.config.files.paths import Paths
from core.config.models.accounts import own_account
from core.config.models.assignments import choose_models
from core.config.models.model_config import PromptStyle
from core.config.sections import AgentSettings, ProfileSettings
from core.domain.agent_role import AgentRole
from core.exchange.scripts.chapter_script import load_chapter_script
from core.providers.factory import make_provider

EXAMPLES = Path(__file__).parents[2] / "examples"
RESULTS = Path("bench/results/voices")
BUNDLED, GOOD = "bundled", "good"
FIRST_PAGE = 2_000
"""Characters of prose that a page of a terminal shows, about."""


def main() -> None:
    """Play, measure and print as the command line says."""
    options = _options()
    RESULTS.mkdir(parents=True, exist_ok=True)
    rows: dict[str, Voices] = {}
    for style in options.style:
        name = f"{Path(options.model).stem}-{style}" + (f"-{options.label}" if options.label else "")
        with _served(options.model) as address, tempfile.TemporaryDirectory() as home:
            profile = _profile(
                options.model, style, address, avoid_repeats=not (options.without_guard or options.prefill)
            )
            rows |= _measured(name, profile, Path(home), options)
    _print(rows)


def _measured(
    name: str, profile: ProfileSettings, home: Path, options: argparse.Namespace
) -> dict[str, Voices]:
    """Play every script that is asked for; return the measures of all together by name."""
    chapters: dict[str, dict[str, list[Played]]] = {}
    together: dict[str, Voices] = {}
    for script in options.script:
        print(f"{name}: {script}", flush=True)
        for prefill, rounds in asyncio.run(_chapter(script, profile, home, options)).items():
            one = f"{name}-{prefill}" if prefill else name
            of_scripts = chapters.setdefault(one, {})
            of_scripts[script] = rounds
            together[one] = measure(list(chain.from_iterable(of_scripts.values())))
            every = {"together": together[one], **{which: measure(of) for which, of in of_scripts.items()}}
            rows = {which: voices.row() for which, voices in every.items()}
            (RESULTS / f"{one}.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
            (RESULTS / f"{one}.{script}.txt").write_text("\n".join(map(_as_text, rounds)), "utf-8")
    return together


async def _chapter(
    script: str, profile: ProfileSettings, home: Path, options: argparse.Namespace
) -> dict[str, list[Played]]:
    """Play a script; return it with its own and with other answers, by the name of each prefill."""
    paths = Paths(data=home, config=home, logs=home, downloads=home)
    models = choose_models(profile)
    asked = make_provider(own_account(profile, "local"), paths, models)
    provider = ComparingProvider(asked, options.prefill, options.rounds)
    try:
        chapter = load_chapter_script(EXAMPLES / f"{script}.toml")
        played = await play(chapter, provider, models, options.prompts, has_prose=not options.replies_only)
        again = {name: list(map(played.answered, rounds)) for name, rounds in provider.answers.items()}
        return {**again, "": [played, *again.get("", ())]}
    finally:
        await provider.aclose()


def _served(model: str) -> AbstractContextManager[str]:
    return good_service() if model == GOOD else nullcontext("")


def _profile(model: str, style: str, address: str, *, avoid_repeats: bool) -> ProfileSettings:
    own = AgentSettings(style=None if style == "auto" else style)
    roles = {role.value: own for role in AgentRole}
    where = {
        GOOD: {"provider": "openai", "base_url": address},
        BUNDLED: {"provider": "local"},
    }.get(model, {"provider": "local", "model_path": model})
    return ProfileSettings.model_validate({**where, **roles, "avoid_repeats": avoid_repeats})


def _as_text(played: Played) -> str:
    """Return what was played, for a reader: every prompt's reply, then the first page of the chapter."""
    turns = [f"{number}) {turn.name}: {turn.reply}" for number, turn in enumerate(played.turns, start=1)]
    return "\n\n".join([*turns, "--- the first page of the chapter ---", played.prose[:FIRST_PAGE]]) + "\n"


def _print(rows: dict[str, Voices]) -> None:
    table = Table("measure", *rows, title="Voices")
    for measure_name in next(iter(rows.values())).row():
        values = [row.row()[measure_name] for row in rows.values()]
        table.add_row(measure_name.replace("_", " "), *map(_shown, values))
    console = Console()
    (console if console.is_terminal else Console(width=WIDTH)).print(table)


def _shown(value: object) -> str:
    return "" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.voices", description=__doc__)
    parser.add_argument(
        "--model", default=BUNDLED, help=f"`{BUNDLED}`, `{GOOD}` (the stand-in), or a GGUF file"
    )
    styles = ("auto", *PromptStyle)
    parser.add_argument("--style", nargs="+", default=["auto"], choices=styles, help="auto: by size")
    scripts = sorted(file.stem for file in EXAMPLES.glob("*.toml"))
    parser.add_argument("--script", nargs="+", default=scripts, choices=scripts, help="some examples alone")
    parser.add_argument("--prompts", type=int, help="only the first prompts of each")
    parser.add_argument("--replies-only", action="store_true", help="do not write the chapter")
    parser.add_argument(
        "--prefill", nargs="+", default=[], choices=PREFILLS, help="compare replies that begin so; no guard"
    )
    parser.add_argument(
        "--rounds", type=int, default=1, help="how often each input is answered, with --prefill"
    )
    parser.add_argument("--without-guard", action="store_true", help="accept replies that repeat something")
    parser.add_argument("--label", default="", help="added to the names of the results")
    return parser.parse_args()


if __name__ == "__main__":
    main()
