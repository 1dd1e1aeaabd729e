"""A model's file over HTTP from a server that breaks off, lies, redirects, changes and stalls."""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.config.files.paths import Paths
from core.providers.base import ProviderError
from core.providers.local import download
from core.providers.local.catalogue import CatalogueEntry
from core.providers.local.fetch import fetch, is_here
from core.providers.local.partial_file import PartialFile
from tests.core.providers.local.file_server import (
    Answer,
    FileServer,
    answers,
    breaks_off_after,
    endless,
    leads_to,
    stalls_after,
)
from tests.core.providers.local.tiny_model import left_behind, nothing, tiny_entry

pytestmark = pytest.mark.anyio
CONTENT = b"GGUF" + bytes(range(256)) * 20_000
SIZE = len(CONTENT)
HALF = 2_000_000


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "data", tmp_path / "config", tmp_path / "logs", tmp_path)


@pytest.fixture
async def server(anyio_backend: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FileServer]:
    monkeypatch.setattr(download, "PAUSE_SECONDS", 0.0)
    async with FileServer(CONTENT) as running:
        yield running


def entry_at(address: str) -> CatalogueEntry:
    return tiny_entry(CONTENT, address=address)


def arrived(paths: Paths) -> int:
    return sum(file.stat().st_size for file in paths.models.glob("*.part"))


async def test_a_model_is_fetched_whole_private_and_with_progress(server: FileServer, paths: Paths) -> None:
    heard: list[tuple[str, float]] = []
    entry = entry_at(server.address)
    file = await fetch(entry, paths, lambda stage, share: heard.append((stage, share)))
    assert file.read_bytes() == CONTENT
    assert is_here(entry, paths)
    assert left_behind(paths) == ["tiny.gguf"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert heard[0] == ("downloading", 0.0)
    assert heard[-1] == ("ready", 1.0)
    shares = [share for stage, share in heard if stage == "downloading"]
    assert shares == sorted(shares)
    assert len(shares) > 3


async def test_what_is_sent_says_nothing_of_the_user(server: FileServer, paths: Paths) -> None:
    await fetch(entry_at(server.address), paths, nothing)
    [(line, headers)] = server.asked
    assert line == "GET /model.gguf HTTP/1.1"
    assert set(headers) <= {"host", "accept", "accept-encoding", "connection", "user-agent"}
    assert headers["user-agent"] == "storyengine"
    assert headers["accept-encoding"] == "identity"


async def test_a_transfer_that_breaks_off_goes_on_where_it_ended(server: FileServer, paths: Paths) -> None:
    server.script.extend([breaks_off_after(HALF), breaks_off_after(HALF)])
    file = await fetch(entry_at(server.address), paths, nothing)
    assert file.read_bytes() == CONTENT
    assert server.ranges() == ["", f"bytes={HALF}-", f"bytes={2 * HALF}-"]


async def test_a_server_that_always_breaks_off_ends_the_try_and_the_next_one_goes_on(
    server: FileServer, paths: Paths
) -> None:
    server.script.extend([breaks_off_after(100_000)] * 5)
    with pytest.raises(ProviderError, match="broke off, 5 times; the received part is kept"):
        await fetch(entry_at(server.address), paths, nothing)
    assert arrived(paths) == 500_000
    await fetch(entry_at(server.address), paths, nothing)
    assert server.ranges()[-1] == "bytes=500000-"
    assert left_behind(paths) == ["tiny.gguf"]


async def test_a_server_that_sends_nothing_more_is_asked_again(
    server: FileServer, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "STALL_SECONDS", 0.2)
    server.script.append(stalls_after(HALF))
    file = await fetch(entry_at(server.address), paths, nothing)
    assert file.read_bytes() == CONTENT
    assert server.ranges() == ["", f"bytes={HALF}-"]


async def test_a_server_that_never_answers_ends_the_try(
    server: FileServer, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "STALL_SECONDS", 0.05)

    async def silent(*_: object) -> None:
        await asyncio.sleep(1)  # a server that does not answer

    server.script.extend([silent] * 5)
    with pytest.raises(ProviderError, match="sent nothing for"):
        await fetch(entry_at(server.address), paths, nothing)


async def test_cancelling_ends_at_once_and_keeps_what_has_arrived(server: FileServer, paths: Paths) -> None:
    server.script.append(stalls_after(HALF))
    is_under_way = asyncio.Event()

    def progress(stage: str, share: float) -> None:
        if share > 0.1:
            is_under_way.set()

    fetching = asyncio.create_task(fetch(entry_at(server.address), paths, progress))
    await is_under_way.wait()
    fetching.cancel()
    async with asyncio.timeout(60):
        with pytest.raises(asyncio.CancelledError):
            await fetching
    kept = arrived(paths)
    assert 1_000_000 < kept <= HALF
    await fetch(entry_at(server.address), paths, nothing)
    assert server.ranges() == ["", f"bytes={kept}-"]


KILLED = """
import asyncio, sys
from pathlib import Path
from core.config.files.paths import Paths
from core.providers.local.catalogue import CatalogueEntry
from core.providers.local.fetch import fetch
home = Path(sys.argv[1])
entry = CatalogueEntry.model_validate_json(sys.argv[2])
said = lambda stage, share: print(stage, share, flush=True)
asyncio.run(fetch(entry, Paths(home / "data", home / "config", home / "logs", home), said))
"""


async def test_a_program_that_is_killed_in_the_middle_goes_on_from_there(
    server: FileServer, paths: Paths, tmp_path: Path
) -> None:
    server.script.append(stalls_after(HALF))
    entry = entry_at(server.address)
    killed = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, str(tmp_path), entry.model_dump_json(), stdout=asyncio.subprocess.PIPE
    )
    assert killed.stdout is not None
    async with asyncio.timeout(60):
        while float((await killed.stdout.readline()).split()[1]) < 0.2:
            pass
    killed.kill()
    await killed.wait()
    kept = arrived(paths)
    assert 1_000_000 < kept <= HALF
    assert (await fetch(entry, paths, nothing)).read_bytes() == CONTENT
    assert server.ranges() == ["", f"bytes={kept}-"]
    assert left_behind(paths) == ["tiny.gguf"]


async def test_a_file_that_changed_meanwhile_is_fetched_from_its_beginning(
    server: FileServer, paths: Paths
) -> None:
    server.script.append(breaks_off_after(HALF))
    server.etag = '"v0"'

    async def changed(same: FileServer, headers: dict[str, str], writer: asyncio.StreamWriter) -> None:
        same.etag = '"v2"'
        await breaks_off_after(SIZE)(same, headers, writer)

    server.script.append(changed)
    file = await fetch(entry_at(server.address), paths, nothing)
    assert server.asked[1][1]["if-range"] == '"v0"'
    assert file.read_bytes() == CONTENT


async def test_a_server_without_versions_is_asked_for_the_whole_file_again(
    server: FileServer, paths: Paths
) -> None:
    half = answers("200 OK", {"Content-Length": str(SIZE), "ETag": 'W/"weak"'}, CONTENT[:HALF])
    server.script.append(half)
    assert (await fetch(entry_at(server.address), paths, nothing)).read_bytes() == CONTENT
    assert server.ranges() == ["", ""]


async def test_a_file_that_had_arrived_whole_is_only_checked_whatever_server_it_came_from(
    server: FileServer, paths: Paths
) -> None:
    entry = entry_at(server.address)
    paths.models.mkdir(parents=True, mode=0o700)
    PartialFile(paths.models, entry).append(CONTENT)
    assert (await fetch(entry, paths, nothing)).read_bytes() == CONTENT
    assert server.asked == []


async def test_a_server_that_ignores_ranges_sends_the_whole_file(server: FileServer, paths: Paths) -> None:
    whole = answers("200 OK", {"Content-Length": str(SIZE), "ETag": '"v1"'}, CONTENT)
    server.script.extend([breaks_off_after(HALF), whole])
    assert (await fetch(entry_at(server.address), paths, nothing)).read_bytes() == CONTENT


@pytest.mark.parametrize(
    "answer",
    [
        answers("206 Partial Content", {"Content-Range": f"bytes 0-{SIZE - 1}/{SIZE}"}, CONTENT),
        answers("206 Partial Content", {}, CONTENT[HALF:]),
        answers("416 Range Not Satisfiable", {"Content-Range": f"bytes */{SIZE}"}),
    ],
    ids=["another part", "no range named", "not satisfiable"],
)
async def test_another_part_than_the_one_asked_for_is_not_taken(
    server: FileServer, paths: Paths, answer: Answer
) -> None:
    server.script.extend([breaks_off_after(HALF), answer])
    assert (await fetch(entry_at(server.address), paths, nothing)).read_bytes() == CONTENT
    assert server.ranges() == ["", f"bytes={HALF}-", ""]


@pytest.mark.parametrize("length", [SIZE - 1, SIZE + 1, 0, 10**30, -1])
async def test_a_file_of_another_size_is_refused_before_it_is_read(
    server: FileServer, paths: Paths, length: int
) -> None:
    server.script.extend([answers("200 OK", {"Content-Length": str(length)}, CONTENT)] * 5)
    with pytest.raises(ProviderError, match=r"another size|broke off"):
        await fetch(entry_at(server.address), paths, nothing)
    assert arrived(paths) == 0


@pytest.mark.parametrize("headers", [{"Content-Length": "12"}, {"Content-Encoding": "gzip"}])
async def test_a_page_in_place_of_the_file_does_not_cost_what_has_arrived(
    server: FileServer, paths: Paths, headers: dict[str, str]
) -> None:
    server.script.extend([breaks_off_after(HALF), answers("200 OK", headers, b"Please log in")])
    with pytest.raises(ProviderError, match="nothing is lost"):
        await fetch(entry_at(server.address), paths, nothing)
    assert arrived(paths) == HALF
    assert (await fetch(entry_at(server.address), paths, nothing)).read_bytes() == CONTENT
    assert server.ranges()[-1] == f"bytes={HALF}-"


async def test_more_than_the_file_has_is_refused(server: FileServer, paths: Paths) -> None:
    """Without a length the body ends where the connection does."""
    server.script.append(answers("200 OK", {}, CONTENT + bytes(10)))
    with pytest.raises(ProviderError, match="more than the file has"):
        await fetch(entry_at(server.address), paths, nothing)
    server.script.append(endless)
    async with asyncio.timeout(20):
        with pytest.raises(ProviderError, match="more than the file has"):
            await fetch(entry_at(server.address), paths, nothing)
    assert left_behind(paths) == []


async def test_a_compressed_answer_is_refused(server: FileServer, paths: Paths) -> None:
    server.script.append(answers("200 OK", {"Content-Encoding": "gzip"}, CONTENT))
    with pytest.raises(ProviderError, match="another encoding"):
        await fetch(entry_at(server.address), paths, nothing)


async def test_a_file_with_another_hash_is_thrown_away_and_the_old_one_stays(
    server: FileServer, paths: Paths
) -> None:
    await fetch(entry_at(server.address), paths, nothing)
    server.content = CONTENT[:-1] + b"!"
    with pytest.raises(ProviderError, match="not the expected file"):
        await fetch(entry_at(server.address), paths, nothing)
    assert left_behind(paths) == ["tiny.gguf"]
    assert (paths.models / "tiny.gguf").read_bytes() == CONTENT


@pytest.mark.parametrize(
    "status", ["404 Not Found", "403 Forbidden", "204 No Content", "206 Partial Content"]
)
async def test_a_refusal_is_not_tried_again(server: FileServer, paths: Paths, status: str) -> None:
    server.script.append(answers(status, {"Content-Length": "0"}))
    with pytest.raises(ProviderError, match=f"status {status[:3]}"):
        await fetch(entry_at(server.address), paths, nothing)
    assert len(server.asked) == 1


async def test_a_server_that_is_busy_is_asked_again(server: FileServer, paths: Paths) -> None:
    server.script.extend([answers("503 Busy"), answers("429 Too Many")])
    assert (await fetch(entry_at(server.address), paths, nothing)).read_bytes() == CONTENT


async def test_a_redirect_within_this_machine_is_followed_with_the_same_range(
    server: FileServer, paths: Paths
) -> None:
    server.script.extend([leads_to("/other"), breaks_off_after(HALF), leads_to("/again", "307 X")])
    assert (await fetch(entry_at(server.address), paths, nothing)).read_bytes() == CONTENT
    assert [line.split(" ")[1] for line, _ in server.asked] == [
        "/model.gguf",
        "/other",
        "/model.gguf",
        "/again",
    ]
    assert server.ranges() == ["", "", f"bytes={HALF}-", f"bytes={HALF}-"]


@pytest.mark.parametrize(
    "target",
    [
        "http://example.com/model.gguf",
        "https://example.com/model.gguf",
        "http://localhost:9/model.gguf",
        "http://127.0.0.1.example.com/",
        "http://user:secret@127.0.0.1/",
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "//example.com/model.gguf",
        "http://[::1/",
        "http://127.0.0.1:99999/",
        "",
    ],
)
async def test_a_redirect_to_a_worse_place_is_not_followed(
    server: FileServer, paths: Paths, target: str
) -> None:
    server.script.extend([leads_to(target)] * 20)
    with pytest.raises(ProviderError, match=r"not allowed|not valid|without end"):
        await fetch(entry_at(server.address), paths, nothing)
    assert left_behind(paths) == []


@pytest.mark.parametrize(
    ("before", "after", "may"),
    [
        ("https://a.example/x", "https://b.example/y", True),
        ("https://a.example/x", "http://a.example/x", False),
        ("https://a.example/x", "http://127.0.0.1/x", False),
        ("https://a.example/x", "https://user@b.example/", False),
        ("http://127.0.0.1:1/x", "http://127.0.0.1:2/y", True),
        ("http://127.0.0.1/x", "https://127.0.0.1/x", False),
    ],
)
def test_redirects_lead_from_https_to_https_alone(before: str, after: str, may: bool) -> None:
    if may:
        assert download._redirected(before, after) == after
    else:
        with pytest.raises(ProviderError, match="not allowed"):
            download._redirected(before, after)


async def test_redirects_in_a_circle_end(server: FileServer, paths: Paths) -> None:
    server.script.extend([leads_to("/model.gguf")] * 20)
    with pytest.raises(ProviderError, match="without end"):
        await fetch(entry_at(server.address), paths, nothing)
    assert len(server.asked) == 6


async def test_garbage_in_place_of_http_ends_in_a_sentence(server: FileServer, paths: Paths) -> None:
    async def garbage(same: FileServer, headers: dict[str, str], writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x00\xff SSH-2.0 \r\n\r\n")

    server.script.extend([garbage] * 5)
    with pytest.raises(ProviderError, match="broke off"):
        await fetch(entry_at(server.address), paths, nothing)


async def test_nothing_is_asked_for_where_the_disk_has_no_room(
    server: FileServer, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.providers.local.fetch.free_disk", lambda _: SIZE - 3_000_000)
    with pytest.raises(ProviderError, match="too little room, 3 MB more"):
        await fetch(entry_at(server.address), paths, nothing)
    assert server.asked == []


async def test_a_disk_that_is_full_in_the_middle_is_a_failure_with_the_reason(
    server: FileServer, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: object, content: bytes) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("core.providers.local.partial_file.PartialFile.append", full)
    with pytest.raises(ProviderError, match="it could not be stored \\(No space left"):
        await fetch(entry_at(server.address), paths, nothing)


async def test_two_windows_do_not_fetch_at_the_same_time(server: FileServer, paths: Paths) -> None:
    server.script.append(stalls_after(HALF))
    first = asyncio.create_task(fetch(entry_at(server.address), paths, nothing))
    await server.is_held.wait()
    with pytest.raises(ProviderError, match="another window is fetching"):
        await fetch(entry_at(server.address), paths, nothing)
    first.cancel()
    await asyncio.wait({first})
