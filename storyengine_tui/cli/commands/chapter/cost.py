"""`storyengine cost`: the ledger, as a table, as JSON or as CSV (design 18)."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from core.ledger.sums import NO_CALL, By, Sum, cost_text, sum_of, sums_by
from core.text.numbers import counted
from storyengine_tui.bootstrap import running_catalog
from storyengine_tui.cli.commands.chapter.sessions import find_any_session
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.printing import console, say, say_wrong, shown
from storyengine_tui.cli.running import echo_rows, one_of, print_bytes, refuse_together

COLUMNS = ("amount", "calls", "unknown", "local", "input_tokens", "output_tokens")
"""The fields of a sum in the order of the columns; `amount` is in US dollars."""


async def cost(
    session: Annotated[
        str | None,
        typer.Argument(
            metavar="SESSION",
            help="A chapter: its id, the beginning of its id, or `last`; without it, all of them.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        By | None,
        typer.Option(
            **one_of(By),
            help="What to sum by; by agent for one chapter, else by chapter.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON; amounts are strings.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV with a line of headings.")] = False,
) -> None:
    """Print what the calls of models cost, in US dollars; calls of unknown price are counted beside it."""
    refuse_together(**{"--json": as_json, "--csv": as_csv})
    async with running_catalog(await unlocked()) as catalog:
        session_id = None if session is None else await find_any_session(catalog, session)
        entries, unreadable = await catalog.ledger(session_id)
    by = by or (By.CHAPTER if session_id is None else By.AGENT)
    groups, total = sums_by(entries, by), sum_of(entries)
    if as_json:
        print_bytes(_json(by, groups, total))
    elif as_csv:
        print_bytes(_csv(by, groups))
    else:
        _print(by, groups, total)
    if unreadable:
        say_wrong(f"These sums leave out {counted(unreadable, 'chapter')} that cannot be read.")


def _fields(part: Sum) -> dict[str, object]:
    values = asdict(part)
    return {name: f"{part.amount:f}" if name == "amount" else values[name] for name in COLUMNS}


def _json(by: By, groups: Sequence[tuple[str, Sum]], total: Sum) -> bytes:
    document = {
        "currency": "USD",
        "by": by.value,
        "groups": [{"name": name, **_fields(part)} for name, part in groups],
        "total": _fields(total),
    }
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode()


def _csv(by: By, groups: Sequence[tuple[str, Sum]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow((by.value, *COLUMNS))
    for name, part in groups:
        writer.writerow((_cell(name), *_fields(part).values()))
    return out.getvalue().encode()


def _cell(name: str) -> str:
    """Return a name as text of a spreadsheet: one that begins like a formula is marked as text."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@")) else name


def _print(by: By, groups: Sequence[tuple[str, Sum]], total: Sum) -> None:
    if not groups:
        say(NO_CALL)
        return
    if console.is_terminal:
        table = Table()
        for number, heading in enumerate((by.value.capitalize(), "Cost", "Calls", "Tokens in", "Tokens out")):
            table.add_column(heading, justify="right" if number else "left")
        for name, part in groups:
            table.add_row(*(Text(shown(cell)) for cell in (name, *_cells(part))))
        console.print(table)
    else:
        echo_rows((shown(name), *_cells(part)) for name, part in groups)
    say(f"In all: {cost_text(total)}.")


def _cells(part: Sum) -> tuple[str, ...]:
    return (cost_text(part), f"{part.calls:,}", f"{part.input_tokens:,}", f"{part.output_tokens:,}")
