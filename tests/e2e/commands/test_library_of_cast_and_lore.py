"""Cards and lorebooks go into the library and come out as they were; what is refused leaves nothing."""

import json

import pytest

from core.library.cards.card_file import read_card
from core.library.cards.png import plain_picture
from storyengine_tui.cli.exit_codes import ExitCode
from tests.core.exchange.test_arrivals import CHAT
from tests.core.library.cards.card_samples import V2, V3, image_data, packed, picture, t_ext, text_of
from tests.e2e.commands.test_library_commands import BOOK, written
from tests.e2e.program import Machine


def test_cards_go_in_by_file_and_folder_and_come_out_as_they_were(fresh: Machine) -> None:
    both = picture(t_ext("chara", packed(V2)), t_ext("ccv3", packed(V3)))
    text = b"\xef\xbb\xbf" + json.dumps({**V2, "data": {**V2["data"], "name": "Joss"}}, indent=3).encode()
    folder = fresh.work / "cards"
    (folder / "more").mkdir(parents=True)
    (folder / "kara.png").write_bytes(both)
    (folder / "more" / "joss.json").write_bytes(text)
    (folder / "readme.txt").write_text("no card")
    (folder / "late.jsonl").write_text("{}")

    done = fresh.call("cast", "import", folder)
    assert done.returncode == 0, done.stderr
    assert "1 chat (.jsonl) was passed over; `storyengine import` makes a chapter of one." in done.stdout
    assert "imported, “Kara”" in done.stdout
    assert "Scenario → the chapter." in done.stdout
    listed = [line.split("\t") for line in fresh.call("cast", "list").stdout.splitlines()]
    assert [line[:3] for line in listed] == [["Joss", "", "General"], ["Kara", "K", "General"]]

    assert fresh.call("cast", "export", "joss", fresh.work / "out.json").returncode == 0
    assert (fresh.work / "out.json").read_bytes() == text
    assert fresh.call("cast", "export", "K", fresh.work / "out.png").returncode == 0
    assert (fresh.work / "out.png").read_bytes() == both
    assert fresh.call("cast", "export", "KARA", fresh.work / "out.charx").returncode == 0
    archive = read_card((fresh.work / "out.charx").read_bytes(), "out")
    assert archive.picture is not None
    assert image_data(archive.picture) == image_data(both)
    assert archive.card.document.value["data"]["extensions"] == V3["data"]["extensions"]

    again = fresh.call("cast", "import", folder / "kara.png")
    assert "not imported again" in again.stdout
    assert len(fresh.call("cast", "list").stdout.splitlines()) == 2


def test_a_picture_with_one_version_of_a_card_is_written_with_both(fresh: Machine) -> None:
    card = written(fresh, "kara.png", picture(t_ext("chara", packed(V2))))
    fresh.call("cast", "import", card)
    fresh.call("cast", "export", "Kara", fresh.work / "out.png")
    content = (fresh.work / "out.png").read_bytes()
    assert b"ccv3" in content
    assert b"chara" in content
    assert read_card(content, "out").card.twin is not None


def test_a_name_that_is_taken_gets_a_number_and_the_card_keeps_its_own(fresh: Machine) -> None:
    first = written(fresh, "a.json", text_of(V2))
    second = written(fresh, "b.json", text_of({**V2, "data": {**V2["data"], "description": "Another."}}))
    done = fresh.call("cast", "import", first, second)
    assert "“Kara (2)” is its name in the library; the card keeps its own." in done.stdout
    fresh.call("cast", "export", "kara (2)", fresh.work / "out.json")
    assert (fresh.work / "out.json").read_bytes() == second.read_bytes()


def test_a_character_is_taken_into_a_chapter_with_what_was_chosen_of_its_card(fresh: Machine) -> None:
    fresh.call("cast", "import", written(fresh, "kara.json", text_of(V2)))
    chat = "\n".join(map(json.dumps, CHAT)).replace("Kara", "Joss").encode()
    assert fresh.call("import", written(fresh, "harbour.jsonl", chat)).returncode == 0
    refused = fresh.call("cast", "take", "Kara", "last", "--with", "songs")
    assert refused.returncode == ExitCode.REFUSED
    assert "The card has nothing called “songs”; it has scenario, greeting, examples" in refused.stderr
    done = fresh.call("cast", "take", "Kara", "last", "--slot", "3", "--with", "scenario,system,lore")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "“Kara” is in slot 3.",
        "Scenario → the chapter.",
        "System prompt → a prompt block of its own, with the rules.",
        "Lore → a lorebook that this character alone knows.",
        "Its card also has: greeting, examples, post-history, greeting-2, greeting-3, depth. "
        "Take some with --with.",
    ]
    shown = fresh.call("show", "last").stdout
    assert "Lorebook “Kara (card)”, 1 entry, known to Kara" in shown
    again = fresh.call("cast", "take", "Kara", "last", "--with", "depth")
    assert again.stdout.splitlines()[:2] == [
        "“Kara” is in slot 3.",
        "Depth prompt → a prompt block of its own, with the rules.",
    ]
    as_3 = fresh.work / "three.json"
    assert fresh.call("cast", "export", "Kara", as_3, "--as", "v3").returncode == 0
    assert json.loads(as_3.read_bytes())["spec"] == "chara_card_v3"
    no_json = fresh.call("cast", "export", "Kara", fresh.work / "k.charx", "--as", "v2")
    assert no_json.returncode == ExitCode.REFUSED
    assert "A .charx card always holds version 3" in no_json.stderr


def test_what_is_no_card_is_refused_and_the_others_are_imported(fresh: Machine) -> None:
    bad = written(fresh, "bad.png", plain_picture((1, 2, 3)))
    good = written(fresh, "good.json", text_of(V2))
    done = fresh.call("cast", "import", bad, fresh.work / "none.json", good)
    assert done.returncode == 3
    assert "bad.png is a picture without a card." in done.stderr
    assert "none.json cannot be read" in done.stderr
    assert len(fresh.call("cast", "list").stdout.splitlines()) == 1


@pytest.mark.parametrize("group", ["cast", "lore"])
def test_an_import_that_finds_nothing_to_import_fails(fresh: Machine, group: str) -> None:
    written(fresh, "kara.json", text_of(V2))
    unnamed = fresh.call(group, "import", "")  # the current directory is not meant
    assert unnamed.returncode == 2
    assert "Name a file or a folder to import." in " ".join(unnamed.stderr.split())
    (fresh.work / "empty").mkdir()
    empty = fresh.call(group, "import", fresh.work / "empty")
    assert empty.returncode == 3
    assert empty.stderr.strip() == "No file there can be imported here."
    assert not fresh.call(group, "list").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("cast", "export", "Kara", "out.txt"), "out.txt has no ending that says a format"),
        (("cast", "export", "Nobody", "out.json"), "there is no character in the library called “Nobody”"),
        (("cast", "export", "Kara", "tfresh.json"), "tfresh.json is there already"),
        (("cast", "purge", "Kara", "--yes"), "there is no archived character called “Kara”"),
        (("lore", "export", "Nothing", "out.json"), "there is no lorebook in the library called “Nothing”"),
        (("cast", "show", "Nobody"), "there is no character in the library called “Nobody”"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    fresh: Machine, arguments: tuple[str, ...], said: str
) -> None:
    fresh.call("cast", "import", written(fresh, "tfresh.json", text_of(V2)))
    done = fresh.call(*arguments)
    assert done.returncode == 8
    assert said in " ".join(done.stderr.split())
    assert not list(fresh.work.glob("out.*"))


def test_a_character_is_archived_restored_and_deleted(fresh: Machine) -> None:
    fresh.call("cast", "import", written(fresh, "kara.json", text_of(V3)))
    assert fresh.call("cast", "archive", "K").returncode == 0
    assert fresh.call("cast", "list").stdout == ""
    assert "Kara" in fresh.call("cast", "list", "--archived").stdout
    asked = fresh.call("cast", "purge", "Kara")
    assert asked.returncode == 8
    assert fresh.call("cast", "restore", "Kara").returncode == 0
    assert "Kara" in fresh.call("cast", "show", "K").stdout
    fresh.call("cast", "archive", "Kara")
    assert fresh.call("cast", "purge", "Kara", "--yes").returncode == 0
    assert fresh.call("cast", "list", "--archived").stdout == ""


def test_a_lorebook_goes_in_is_tried_by_its_name_and_comes_out_as_it_was(fresh: Machine) -> None:
    content = json.dumps({**BOOK, "name": "Harbour"}, indent=1).encode()
    done = fresh.call("lore", "import", written(fresh, "book.json", content))
    assert "3 entries, 3 of them on." in done.stdout
    [line] = fresh.call("lore", "list").stdout.splitlines()
    assert line.split("\t")[:4] == ["Harbour", "3", "world info", "General"]
    fresh.write("text.txt", "The lamp is lit.\n")
    tried = fresh.call("lore", "test", "harbour", "--text", fresh.work / "text.txt", "--json")
    assert [one["uid"] for one in json.loads(tried.stdout)["active"]] == ["0"]
    fresh.call("lore", "export", "Harbour", fresh.work / "out.json")
    assert (fresh.work / "out.json").read_bytes() == content
    fresh.call("lore", "export", "Harbour", fresh.work / "v3.json", "--as", "lorebook_v3")
    assert json.loads((fresh.work / "v3.json").read_bytes())["spec"] == "lorebook_v3"
    fresh.call("lore", "export", "Harbour", fresh.work / "card.png")
    shown = fresh.call("cast", "show", fresh.work / "card.png")
    assert "Lore, 3 entries" in shown.stdout


def test_a_card_is_read_from_standard_input(fresh: Machine) -> None:
    done = fresh.pipe(text_of(V2), "cast", "import", "-")
    assert done.returncode == 0, done.stderr
    assert "“Kara”" in done.stdout


def test_a_character_is_described_paused_and_resumed_by_any_of_its_names(fresh: Machine) -> None:
    fresh.call("cast", "import", written(fresh, "kara.json", text_of(V3)))
    told = fresh.call(
        *("cast", "set", "K", "--short", "The keeper. [/x]", "--alias", "Kay", "--alias", "Lamp-Kara"),
        *("--group", "Lamp", "--sees", "Harbour", "--sees", "General", "--static"),
    )
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines()[:5] == [
        "Kara",
        "Other names: Kay, Lamp-Kara",
        "The keeper. [/x]",
        "Group: Lamp; sees General, Harbour, Lamp",
        "Static: only you change it.",
    ]
    walled_off = fresh.call("cast", "set", "kay", "--sees", "", "--no-static", "--alias", "").stdout
    assert "Group: Lamp; sees Lamp" in walled_off
    assert "Static" not in walled_off
    renamed = fresh.call("cast", "set", "kara", "--name", "Karo").stdout
    assert renamed.startswith("Karo\n")
    fresh.call("cast", "set", "karo", "--name", "Kara")
    refused = fresh.call("cast", "set", "kara", "--short", "x" * 501)
    assert refused.returncode == ExitCode.REFUSED
    assert "at most 500 characters" in refused.stderr

    assert fresh.call("cast", "pause", "kara").stdout == "“Kara” is paused.\n"
    assert "paused · The keeper." in fresh.call("cast", "list").stdout
    until = fresh.call("cast", "pause", "kara", "--until", "2999-05-31 18:00").stdout
    assert until == "“Kara” is paused until 2999-05-31 18:00.\n"
    assert "Paused until 2999-05-31 18:00" in fresh.call("cast", "show", "kara").stdout
    for wrong, reason in (("soon", "Type the end of the pause"), ("2001-01-01", "ends later than now")):
        done = fresh.call("cast", "pause", "kara", "--until", wrong)
        assert (done.returncode, reason in done.stderr) == (ExitCode.REFUSED, True)
    assert fresh.call("cast", "resume", "kara").stdout == "“Kara” is no longer paused.\n"
    assert "is not paused" in fresh.call("cast", "resume", "kara").stderr


def test_a_lorebook_is_made_shown_and_given_groups(fresh: Machine) -> None:
    assert "Made “Sea”." in fresh.call("lore", "new", "Sea").stdout
    assert "Made “Sea (2)”." in fresh.call("lore", "new", "Sea").stdout
    assert fresh.call("lore", "new", " ").returncode == 8
    fresh.call("lore", "export", "Sea", fresh.work / "sea.json")
    assert json.loads((fresh.work / "sea.json").read_bytes()) == {"name": "Sea", "entries": {}}
    content = json.dumps({**BOOK, "name": "Harbour"}).encode()
    fresh.call("lore", "import", written(fresh, "book.json", content))
    assert fresh.call("lore", "show", "Harbour").stdout.splitlines() == [
        "Lamp\tlamp\ton\t9",
        "Harbour\tharbour\ton\t100",
        "Ship\t/sh.p/i\ton\t1",
    ]
    assert "“Harbour” is for General." in fresh.call("lore", "groups", "Harbour").stdout
    assert "is for Crew, Guests." in fresh.call("lore", "groups", "Harbour", "Crew", "Guests", "Crew").stdout
    assert "is for Crew, Guests." in fresh.call("lore", "groups", "Harbour").stdout
    assert "is for General." in fresh.call("lore", "groups", "Harbour", "General").stdout
    assert fresh.call("lore", "groups", "Harbour", *map(str, range(21))).returncode == 8


def test_a_lorebook_that_is_deleted_takes_what_was_typed_into_it_along(fresh: Machine) -> None:
    fresh.call("lore", "new", "Sea")
    [line] = fresh.call("lore", "list").stdout.splitlines()
    kept = fresh.data / f"lore-{line.split(chr(9))[-1]}"
    fresh.data.mkdir(mode=0o700, exist_ok=True)
    kept.write_text("x")
    fresh.call("lore", "archive", "Sea")
    assert fresh.call("lore", "purge", "Sea", "--yes").returncode == 0
    assert not kept.exists()


def test_traits_topics_and_model_are_set_listed_and_removed(fresh: Machine) -> None:
    fresh.call("cast", "import", written(fresh, "kara.json", text_of(V3)))
    assert fresh.call("cast", "trait", "Kara").stdout.strip() == "“Kara” has no trait yet."
    made = fresh.call("cast", "trait", "K", "Patient", "--text", "She waits. [/x]", "--sentiment", "-0.5")
    assert made.stdout.strip() == "Patient (strength 0.5, sentiment -0.5): She waits. [/x]"
    changed = fresh.call("cast", "trait", "K", "patient", "--name", "Proud", "--strength", "0.75")
    assert changed.stdout.strip() == "Proud (strength 0.75, sentiment -0.5): She waits. [/x]"
    refused = fresh.call("cast", "trait", "K", "Proud", "--strength", "2")
    assert refused.returncode == 8
    assert "A trait has a strength from 0 to 1" in " ".join(refused.stderr.split())
    told = ("--perspective", "A thief.", "--approach", "Rows.", "--stake", "Her brother.")
    topic = fresh.call("cast", "topic", "K", "The sea", *told, "--now", "0.25", "--wanted", "1")
    assert topic.stdout.strip() == (
        "The sea (sentiment 0, exposure now 0.25, exposure wanted 1): A thief."
        " Approach: Rows. Personal stake: Her brother."
    )
    fresh.call("cast", "set", "K", "--model", "far:dear")
    shown = fresh.call("cast", "show", "K").stdout
    assert "Model: far:dear" in shown
    assert "Trait Proud (" in shown
    assert fresh.call("cast", "trait", "K", "Proud", "--remove").stdout.strip() == "“Kara” has no trait yet."
    assert fresh.call("cast", "trait", "K", "Proud", "--remove").returncode == 8
    assert fresh.call("cast", "topic", "K", "--remove").returncode == 8
