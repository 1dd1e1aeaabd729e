"""`storyengine cost`, and a ceiling without a screen, run as a user runs them."""

import csv
import json
from decimal import Decimal

import pytest

from core.domain.errors import SENTENCES, ErrorCode
from core.domain.ids import new_uuid
from core.text.canonical_json import canonical, checksum
from storyengine_tui.cli.exit_codes import ExitCode
from tests.e2e.commands.test_command_line import ids
from tests.e2e.program import Machine, chapter_script


@pytest.fixture(scope="module")
def paid(served: tuple[Machine, str]) -> tuple[Machine, str]:
    """A machine with a chapter whose calls cost something, but for the last: an edited export, imported."""
    here = served[0]
    here.play("Costs", 2)
    [played] = ids(here, "Costs")
    document = json.loads(here.call("export", played).stdout)
    *priced, last = document["body"]["artifacts"]
    assert last["cost"] == {"amount": "0", "source": "local", "prices": None}
    for artifact in (*priced, last):
        artifact["id"] = str(new_uuid())  # calls of its own: those of a copy are counted once
    for artifact in priced:
        artifact["provider"] = "openai"
        artifact["cost"] = {"amount": "0.000123456789012345", "source": "genai-prices 0.2.3"}
    last["provider"] = "openai"
    del last["cost"]
    document["body"]["session"]["title"] = "=Paid"
    document["sha256"] = checksum(canonical(document["body"]))
    file = here.work / "paid.json"
    file.write_text(json.dumps(document))
    here.lines("import", file)
    [session] = ids(here, "=Paid")
    return here, session


def groups(here: Machine, *arguments: str) -> dict[str, dict[str, object]]:
    document = json.loads(here.call("cost", *arguments, "--json").stdout)
    named = {group.pop("name"): group for group in document["groups"]}
    total = document["total"]
    for field in ("calls", "unknown", "local", "input_tokens"):
        assert sum(group[field] for group in named.values()) == total[field]
    assert sum(Decimal(group["amount"]) for group in named.values()) == Decimal(total["amount"])
    return named


@pytest.mark.parametrize("by", ["call", "prompt", "character", "agent", "chapter", "day"])
def test_the_sums_of_a_chapter_are_printed_by_all_that_calls_are_made_for(
    paid: tuple[Machine, str], by: str
) -> None:
    here, session = paid
    found = groups(here, session, "--by", by)
    assert sum(group["unknown"] for group in found.values()) == 1  # type: ignore[misc]
    calls = sum(group["calls"] for group in found.values())  # type: ignore[misc]
    amount = sum(Decimal(str(group["amount"])) for group in found.values())
    assert amount == (calls - 1) * Decimal("0.000123456789012345")


def test_the_table_says_what_is_unknown_and_what_is_local(paid: tuple[Machine, str]) -> None:
    here, session = paid
    *rows, total = here.lines("cost", session, "--by", "agent")
    assert any(row.startswith("9 Narrative\t") for row in rows)
    assert total.startswith("In all: $0.00")
    assert total.endswith("and 1 call of unknown price.")
    every = here.lines("cost")
    assert any("$0.00 (local)" in row for row in every)
    assert len(every) >= 3, "two chapters and a total"


def test_csv_has_headings_and_no_formula(paid: tuple[Machine, str]) -> None:
    here, session = paid
    rows = list(csv.reader(here.call("cost", session, "--by", "chapter", "--csv").stdout.splitlines()))
    assert rows[0] == ["chapter", "amount", "calls", "unknown", "local", "input_tokens", "output_tokens"]
    assert rows[1][0] == "'=Paid"
    assert Decimal(rows[1][1]) % Decimal("0.000123456789012345") == 0


def test_what_a_chapter_costs_survives_an_export_and_an_import(paid: tuple[Machine, str]) -> None:
    here, session = paid
    file = here.work / "again.json"
    file.write_text(here.call("export", session).stdout)
    before = here.lines("cost", session, "--by", "call")
    [line] = here.lines("import", file)
    assert here.lines("cost", line.split()[-1].strip("."), "--by", "call") == before


def test_what_an_archived_chapter_cost_is_printed_as_before(paid: tuple[Machine, str]) -> None:
    here, session = paid
    before = here.lines("cost", session)
    here.call("archive", session)
    assert here.lines("cost", session) == before
    here.call("restore", session)


def test_without_a_screen_the_call_that_could_pass_a_ceiling_is_refused(served: tuple[Machine, str]) -> None:
    here = served[0]
    script = here.write("ceiling.toml", chapter_script("Ceiling", 1))
    address = "https://api.openai.com/v1"
    refused = here.call(
        "play",
        script,
        "--out",
        here.out,
        STORYENGINE_API_KEY="sk-secret",
        STORYENGINE_PROVIDER="openai",
        STORYENGINE_BASE_URL=address,
        STORYENGINE_CONSENT=json.dumps([address]),
        STORYENGINE_CEILINGS__CHAPTER="0.01",
    )
    assert refused.returncode == ExitCode.CEILING_REACHED
    # World lock with o4-mini: 12,000 tokens of output at 4.40 for a million are 0.0528, and the input on top.
    assert "This call may cost up to $0.0" in refused.stderr
    assert "could pass your ceiling of $0.01; nothing was sent" in refused.stderr
    assert "STORYENGINE_CEILINGS__CHAPTER" in refused.stderr
    [session] = ids(here, "Ceiling")
    [artifact] = json.loads(here.call("export", session).stdout)["body"]["artifacts"]
    assert artifact["error_code"] == "CEILING_REACHED"
    assert "cost" not in artifact
    assert ErrorCode.CEILING_REACHED in SENTENCES
