"""`storyengine reroll`, `take`, `undo`, `redo`, `branch`, and a script that branches, as users run them."""

import json

from storyengine_tui.cli.exit_codes import ExitCode
from tests.e2e.program import Machine, chapter_script

BRANCH = '[[prompt]]\nbranch_at = 6\nbranch_title = "Low tide, ashore"\ntext = "Turn back."\n'
OTHER = '[[reply]]\nmatch = { schema = "text", last = "Low tide, prompt 7" }\ntext = "I turn around."\n'


def listed(here: Machine) -> dict[str, list[str]]:
    """Each chapter of this test by its title: its id, its state and its prompts."""
    rows = [line.split("\t") for line in here.lines("sessions")]
    return {row[1]: [row[0], *row[2:4]] for row in rows if len(row) > 1 and row[1].startswith("Low tide")}


def told(here: Machine, session: str) -> str:
    """The transcript, without the line below what is in memory: that goes and comes with its prompt."""
    return here.call("export", session, "--format", "transcript").stdout.rstrip("-\n")


def test_the_last_prompt_of_a_chunk_is_rolled_again_chosen_taken_back_brought_back_and_branched(
    here: Machine,
) -> None:
    script = here.write("low_tide.toml", chapter_script("Low tide", 7) + BRANCH)
    here.lines("play", script, "--provider", "scripted", "--out", here.out)
    chapters = listed(here)
    session, *state = chapters["Low tide"]
    assert state == ["being played", "7"], "the chapter before the branch stays as far as it was played"
    assert chapters["Low tide, ashore"][1:] == ["ended", "7"]
    assert "7) Turn back." in told(here, chapters["Low tide, ashore"][0])
    assert (here.out / "Low tide, ashore.txt").exists()

    first = told(here, session)
    replies = here.write("other.toml", OTHER)
    settings = {"STORYENGINE_PROVIDER": "scripted", "STORYENGINE_SCRIPT": str(replies)}
    assert here.lines("reroll", session, **settings) == ["I turn around."]
    assert "I turn around." in told(here, session)
    takes = here.lines("take", session)
    assert [line[:4] for line in takes] == ["  1 ", "* 2 "]
    assert takes[1].endswith("I turn around.")
    assert here.lines("take", session, "1") == ["Take 1 counts now."]
    assert told(here, session) == first
    assert here.call("take", session, "9").returncode == ExitCode.REFUSED

    assert "the chapter has 6 prompts now" in " ".join(here.lines("undo", session))
    assert "7) Low tide" not in told(here, session)
    assert here.lines("redo", session) == ["Prompt 7 is back."]
    assert told(here, session) == first
    refused = here.call("redo", session)
    assert (refused.returncode, "nothing to redo" in refused.stderr) == (ExitCode.REFUSED, True)

    [made] = here.lines("branch", session, "--at", "2")
    branch = made.rsplit(" ", 1)[1]
    assert told(here, branch) == first[: first.index("3) Low tide")].rstrip()
    refused = here.call("branch", session, "--at", "99")
    assert (refused.returncode, "prompts 1 to 7" in refused.stderr) == (ExitCode.REFUSED, True)
    body = json.loads(here.call("export", session, "--format", "json").stdout)["body"]
    assert [one["take"] for one in body["events"] if one["prompt_index"] == 7] == [1, 1, 2, 2]
    assert told(here, session) == first, "a chapter stays as it is when it is branched"
