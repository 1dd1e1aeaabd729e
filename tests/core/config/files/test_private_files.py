"""What is the GM's alone is made so, and refused where it is not."""

import os
import stat
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config.files.paths import Paths
from core.config.files.private_files import (
    NotPrivateError,
    alone_with,
    environment_without_secrets,
    make_directory,
    refuse_open_places,
    write_privately,
)
from core.config.settings import load_settings
from core.domain.errors import StoryEngineError
from core.exchange.chapter_file import write_chapter, write_new


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    """Directories that are as they should be."""
    paths = Paths(tmp_path / "data", tmp_path / "config", tmp_path / "data" / "logs", tmp_path / "downloads")
    for directory in (paths.data, paths.config, paths.logs):
        make_directory(directory)
    return paths


@pytest.fixture
def env_file(tmp_path: Path) -> Path:
    return tmp_path / ".env"


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_directory_is_private_from_the_first_that_was_missing(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_directory(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(before)
    assert [rights(tmp_path / part) for part in ("a", "a/b", "a/b/c")] == [0o700] * 3


def test_a_file_is_replaced_whole_and_private(tmp_path: Path) -> None:
    file = tmp_path / "new" / "file.toml"
    write_privately(file, "one")
    file.chmod(0o644)
    write_privately(file, "two — ½")
    assert file.read_text("utf-8") == "two — ½"
    assert rights(file) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["file.toml"]


def test_what_is_closed_or_not_there_yet_is_fine(paths: Paths, env_file: Path, tmp_path: Path) -> None:
    refuse_open_places(paths, env_file)
    refuse_open_places(Paths(*[tmp_path / "none"] * 4), env_file)


def test_a_place_that_cannot_be_reached_is_left_to_what_needs_it(paths: Paths, tmp_path: Path) -> None:
    out_of_reach = tmp_path / ("n" * 300)  # as one in a directory that we may not enter: also as root
    refuse_open_places(Paths(*[out_of_reach] * 4), out_of_reach / ".env")
    refuse_open_places(paths, out_of_reach)


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o740, 0o755, 0o770, 0o777])
@pytest.mark.parametrize("name", ["data", "config", "logs"])
def test_an_open_directory_is_refused_with_how_to_close_it(
    paths: Paths, env_file: Path, name: str, mode: int
) -> None:
    directory: Path = getattr(paths, name)
    directory.chmod(mode)
    with pytest.raises(NotPrivateError) as refused:
        refuse_open_places(paths, env_file)
    assert refused.value.path == directory
    assert str(directory) in refused.value.message
    assert f"chmod 700 '{directory}'" in refused.value.hint


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_somebody_else_is_refused(paths: Paths, env_file: Path) -> None:
    os.chown(paths.data, 65534, -1)
    with pytest.raises(NotPrivateError, match="another user"):
        refuse_open_places(paths, env_file)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give a directory away")
def test_a_server_that_root_started_keeps_its_directory_of_another_account_behind_a_link(
    paths: Paths, env_file: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "large disk"
    elsewhere.mkdir(mode=0o700)
    os.chown(elsewhere, 65534, -1)
    paths.server.symlink_to(elsewhere)
    refuse_open_places(paths, env_file)


def test_settings_behind_a_link_are_looked_at_where_they_are(
    paths: Paths, env_file: Path, tmp_path: Path
) -> None:
    target = tmp_path / "dotfiles.toml"
    target.write_text('profile = "local"\n')
    target.chmod(0o644)
    paths.config_file.symlink_to(target)
    with pytest.raises(NotPrivateError, match=r"dotfiles\.toml"):
        refuse_open_places(paths, env_file)
    target.chmod(0o600)
    refuse_open_places(paths, env_file)


def test_nobody_is_told_to_close_a_device_to_which_the_settings_are_linked(
    paths: Paths, env_file: Path
) -> None:
    paths.config_file.symlink_to(os.devnull)
    refuse_open_places(paths, env_file)


@pytest.mark.parametrize("name", ["server", "backups"])
def test_a_directory_behind_a_link_is_looked_at_where_it_is(
    paths: Paths, env_file: Path, tmp_path: Path, name: str
) -> None:
    """There the closed data directory guards nothing: the database and its backups on a larger disk."""
    elsewhere = tmp_path / "large disk"
    elsewhere.mkdir()
    elsewhere.chmod(0o755)
    link: Path = getattr(paths, name)
    link.symlink_to(elsewhere)
    with pytest.raises(NotPrivateError) as refused:
        refuse_open_places(paths, env_file)
    assert f"chmod 700 '{elsewhere}'" in refused.value.hint
    elsewhere.chmod(0o700)
    refuse_open_places(paths, env_file)


def test_the_folder_that_chapters_go_to_may_be_open_because_each_file_is_closed(
    paths: Paths, env_file: Path
) -> None:
    before = os.umask(0)
    try:
        paths.downloads.mkdir()
        paths.downloads.chmod(0o755)
        refuse_open_places(paths, env_file)
        chapter = write_chapter("The light went out.", "The Lamp", paths.downloads)
        write_new(paths.downloads / "export.json", b"{}")
    finally:
        os.umask(before)
    assert rights(chapter) == rights(paths.downloads / "export.json") == 0o600


@pytest.mark.parametrize(
    "line",
    [
        "STORYENGINE_API_KEY=sk-1",
        "export storyengine_api_key = sk-1",
        "STORYENGINE_PROFILES__PRODUCTION__API_KEY=sk-1",
        "STORYENGINE_DATABASE_URL=postgresql://a:b@c/d",
        "export\tSTORYENGINE_API_KEY=sk-1",
        "  export  'STORYENGINE_API_KEY' = 'sk-1'",
        "'STORYENGINE_API_KEY'=sk-1",
        "OTHER='two\nlines'\nSTORYENGINE_API_KEY=sk-1",
        "A=b\rSTORYENGINE_API_KEY=sk-1",
        """STORYENGINE_PROFILES={"local": {"api_key": "sk-1"}}""",
        """storyengine_profiles='{"local": {"API\\u005fKEY": "sk-1"}}'""",
        """STORYENGINE_PROFILES__PRODUCTION={"api_key": "sk-1"}""",
        """MINE={"local": {"api_key": "sk-1"}}\nSTORYENGINE_PROFILES=${MINE}""",
    ],
)
def test_an_env_file_with_a_secret_must_be_closed(paths: Paths, env_file: Path, line: str) -> None:
    env_file.write_text(f"# mine\n{line}\n")
    env_file.chmod(0o644)
    with pytest.raises(NotPrivateError) as refused:
        refuse_open_places(paths, env_file)
    assert f"chmod 600 '{env_file}'" in refused.value.hint
    assert "sk-1" not in str(refused.value)
    env_file.chmod(0o600)
    refuse_open_places(paths, env_file)


def test_a_secret_in_the_first_line_behind_the_mark_of_an_editor_is_one_too(
    paths: Paths, env_file: Path
) -> None:
    env_file.write_text("\ufeffSTORYENGINE_API_KEY=sk-1\n")
    env_file.chmod(0o644)
    with pytest.raises(NotPrivateError):
        refuse_open_places(paths, env_file)


def test_an_env_file_without_one_may_be_read_by_all(paths: Paths, env_file: Path) -> None:
    env_file.write_text(
        "STORYENGINE_PROFILE=local\nOTHER_API_KEY=theirs\n# STORYENGINE_API_KEY=sk-1\n"
        'STORYENGINE_PROFILES={"local": {"provider": "openai"}}\nNOTE="\nSTORYENGINE_API_KEY=in a text"\n'
    )
    env_file.chmod(0o644)
    refuse_open_places(paths, env_file)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give a file away")
def test_settings_that_another_user_put_here_are_not_read(
    paths: Paths, env_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env_file.write_text("STORYENGINE_BASE_URL=https://theirs.example.com/v1\n")
    env_file.chmod(0o644)
    for directory in (paths.data, paths.config, paths.logs):
        os.chown(directory, 1234, -1)
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    for owner in (0, 1234):
        os.chown(env_file, owner, -1)
        refuse_open_places(paths, env_file)
    os.chown(env_file, 65534, -1)
    with pytest.raises(NotPrivateError, match="where your text and your keys go"):
        refuse_open_places(paths, env_file)


def spelled(name: str, value: str) -> st.SearchStrategy[str]:
    """The spellings of one assignment that python-dotenv reads, and some that it does not."""
    space = st.sampled_from(["", " ", "\t", "  ", "\u00a0", "\n"])
    return st.builds(
        "{}{}{}{}{}={}{}".format,
        st.sampled_from(["", "# a comment\n", "A=b\n", "A='b\nc'\n", "\ufeff", "A=b\r\n"]),
        st.sampled_from(["", "export ", "export\t", "export\u00a0", "EXPORT "]),
        space,
        st.sampled_from([name, name.lower(), f"'{name}'", f'"{name}"', f"'{name.title()}'"]),
        space,
        space,
        st.sampled_from([value, f"'{value}'", f"{value} # why", f"{value}\n"]),
    )


@given(
    spelled("STORYENGINE_API_KEY", "sk-1")
    | spelled("STORYENGINE_PROFILES__LOCAL__API_KEY", "sk-1")
    | spelled("STORYENGINE_PROFILES", '{"local": {"api_key": "sk-1"}}')
    | spelled("STORYENGINE_PROFILES__LOCAL", '{"api_key": "sk-1"}')
)
def test_no_open_env_file_gives_the_settings_a_key(text: str) -> None:
    with TemporaryDirectory() as folder, chdir(folder):
        env_file = Path(".env")
        env_file.write_text(text, encoding="utf-8")
        env_file.chmod(0o644)
        try:
            refuse_open_places(Paths(*[Path("none")] * 4), env_file)
        except NotPrivateError:
            return
        try:
            read = load_settings(Path("none.toml"))
        except StoryEngineError:
            return
        assert read.active().api_key is None


def test_a_program_that_is_started_gets_no_key_in_any_spelling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORYENGINE_API_KEY", "sk-1")
    monkeypatch.setenv("STORYENGINE_PROFILES", '{"local": {"api_key": "sk-1"}}')
    monkeypatch.setenv("STORYENGINE_PROFILES__LOCAL", '{"api_key": "sk-1"')
    monkeypatch.setenv("STORYENGINE_DATA_DIR", "/kept")
    kept = environment_without_secrets()
    assert "sk-1" not in "".join(kept.values())
    assert kept["STORYENGINE_DATA_DIR"] == "/kept"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("STORYENGINE_ACCOUNTS__MINE__HEADERS", '{"X-Token": "hidden"}'),
        ("STORYENGINE_ACCOUNTS__MINE__HEADERS__X_TOKEN", "hidden"),
        ("STORYENGINE_ACCOUNTS__MINE", '{"base_url": "https://h/v1", "headers": {"X-Token": "hidden"}}'),
        ("storyengine_accounts", '{"mine": {"headers": {"X-Token": "hidden"}}}'),
    ],
)
def test_headers_of_an_account_are_as_secret_as_a_key(
    name: str, value: str, env_file: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert name not in environment_without_secrets()
    env_file.write_text(f"{name}='{value}'\n")
    env_file.chmod(0o644)
    with pytest.raises(NotPrivateError):
        refuse_open_places(paths, env_file)


def test_a_file_that_cannot_take_its_place_leaves_the_old_one_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file.toml"
    write_privately(file, "one")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        write_privately(file, "two")
    assert [path.name for path in tmp_path.iterdir()] == ["file.toml"]
    assert file.read_text() == "one"


def test_a_text_that_cannot_be_written_leaves_nothing_beside_the_file(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_privately(tmp_path / "file.toml", "half a letter: \ud83d")
    assert list(tmp_path.iterdir()) == []


def test_who_holds_a_file_for_too_long_is_named_and_afterwards_it_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tries.json"
    monkeypatch.setattr("core.config.files.private_files._LOCK_TIMEOUT", 0.03)
    with alone_with(file):
        with pytest.raises(TimeoutError, match="held by another program"), alone_with(file):
            pytest.fail("two at once")
        monkeypatch.setattr("core.config.files.private_files._LOCK_TIMEOUT", 0.0)
        with pytest.raises(TimeoutError), alone_with(file):
            pytest.fail("two at once")
    with alone_with(file):
        assert rights(tmp_path / "tries.json.lock") == 0o600


@pytest.mark.parametrize(
    ("value", "is_kept"),
    [
        ('[{"a": {"api_key": "x"}}]', False),
        ('{"a": [[{"B_API_KEY": 1}]]}', False),
        ('{"a": ["api_key"]}', True),
        ("{broken api_key", False),
        ("{broken", True),
    ],
)
def test_a_key_at_any_depth_of_a_variable_is_found(
    value: str, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORYENGINE_PROFILES", value)
    assert ("STORYENGINE_PROFILES" in environment_without_secrets()) is is_kept
