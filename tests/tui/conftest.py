"""Fixtures of every test of the screen: a still environment, and snapshots that do not hide a crash."""

import os
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial, wraps
from html import unescape
from typing import Any, Protocol

import pytest
from pytest_textual_snapshot import SVGImageExtension  # type: ignore[import-untyped]
from syrupy.assertion import SnapshotAssertion
from textual.app import App
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.geometry import Size
from textual.notifications import Notification
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import Button, Input

from storyengine_tui.textual_ext import parts
from tests.tui.closed_windows import taken_apart
from tests.tui.engine_app import desktop as desktop
from tests.tui.engine_app import home as home
from tests.tui.engine_app import postgres_desktop as postgres_desktop
from tests.tui.frames import frames_on_pause, rendered
from tests.tui.idle import idle_known_by_the_loop

if pretended := os.environ.get("STORYENGINE_PRETEND_TEXTUAL"):
    parts.installed_version = lambda: pretended  # type: ignore[assignment]  # for the whole run


@pytest.fixture(autouse=True)
def _needed_parts(request: pytest.FixtureRequest) -> None:
    """Skip what tests a private part of Textual that is turned off (`make test-without-extensions`)."""
    for mark in request.node.iter_markers("needs"):
        if missing := [part for part in mark.args if not parts.is_enabled(part)]:
            pytest.skip(f"turned off: {', '.join(missing)}")


@pytest.fixture(autouse=True)
def _still_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clear variables that change colours or output."""
    for name in ("NO_COLOR", "TEXTUAL_THEME", "TEXTUAL_ANIMATIONS", "TMUX", "STORYENGINE_PLAIN_OUTPUT"):
        monkeypatch.delenv(name, raising=False)
    # The terminal that runs the tests may support fewer colours, and the program would use those.
    monkeypatch.setattr("textual.constants.COLOR_SYSTEM", "truecolor")


@pytest.fixture(scope="session", autouse=True)
def _styles_found_once() -> Iterator[None]:
    """Parse each style sheet, and match its rules, once for all apps: that is half of a start."""
    parse = Stylesheet._parse_rules
    parsed: dict[tuple[object, ...], list[RuleSet]] = {}
    themes: list[dict[str, str]] = []

    @wraps(parse)
    def parse_once(self: Stylesheet, *source: Any, **options: Any) -> list[RuleSet]:
        if self._variables not in themes:
            themes.append(dict(self._variables))
        # Not the variables themselves, of which a hash takes long: a start asks four hundred times.
        key = (*source, *options.items(), themes.index(self._variables))
        if key not in parsed:
            parsed[key] = parse(self, *source, **options)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        if parts.is_enabled(parts.Part.STYLE_CACHE):
            from storyengine_tui.textual_ext.painting import style_cache

            # The rules of all apps are the same objects, so that what is known of one holds for the next.
            caching = partial(style_cache.CachingStylesheet, known={})
            patch.setattr(style_cache, "CachingStylesheet", caching)
        yield


@pytest.fixture(scope="session", autouse=True)
def _buttons_at_rest() -> Iterator[None]:
    """Have no button look pressed, and ignore Enter, for the fifth of a second after it was pressed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Button, "_start_active_affect", lambda self: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _notes_stay() -> Iterator[None]:
    """Have no note expire before a test has looked at it: on a busy machine five seconds may be too few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Notification, "time_left", 3_600.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def _idle_known_by_the_loop() -> Iterator[None]:
    """Have no key and no pause wait longer than there is something to do."""
    with idle_known_by_the_loop():
        yield


@pytest.fixture(autouse=True)
def _closed_windows_taken_apart() -> Iterator[None]:
    """Leave nothing of a window to the garbage collector that can be freed at once."""
    with taken_apart():
        yield


@pytest.fixture(autouse=True)
def _frames_on_pause(request: pytest.FixtureRequest) -> Iterator[None]:
    """Paint what a test looks at, but where painting itself is tested."""
    if request.node.get_closest_marker("paints"):
        yield
        return
    with frames_on_pause():
        yield


SIZES = (Size(80, 24), Size(120, 40))


Run = Callable[[Pilot[Any]], Awaitable[None] | None]
Runs = Run | Mapping[str, Run] | None
"""What is done before pictures are taken; by name, one after the other, where several are taken."""


class PicturesMatch(Protocol):
    """Compare pictures of `app` in terminals of several sizes with those that were accepted."""

    def __call__(
        self,
        app: App[Any],
        run_before: Runs = None,
        sizes: tuple[tuple[int, int], ...] = SIZES,
    ) -> bool: ...


_FIELD = re.compile(
    r'<rect fill="([^"]*)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"([^>]*)/>'
)


class Pictures(SVGImageExtension):  # type: ignore[misc]
    """Pictures are alike when they look alike, however many pieces a line of one colour is painted in."""

    def matches(self, *, serialized_data: str, snapshot_data: str) -> bool:
        return _in_one_piece(serialized_data) == _in_one_piece(snapshot_data)


def _in_one_piece(picture: str) -> str:
    """Return a picture in which neighbouring fields of one colour in one line are a single field."""
    pieces: list[str] = []
    begun: tuple[tuple[str, ...], float, float] | None = None
    end = 0
    for field in _FIELD.finditer(picture):
        fill, x, y, width, *rest = field.groups()
        colour, left, right = (fill, y, *rest), float(x), float(x) + float(width)
        between, end = picture[end : field.start()], field.end()
        if begun and not between and begun[0] == colour and abs(begun[2] - left) < 0.05:
            begun = (colour, begun[1], right)
            continue
        pieces += [f"{begun[0]} {begun[1]:.1f} {begun[2]:.1f}" if begun else "", between]
        begun = (colour, left, right)
    return "".join([*pieces, str(begun), picture[end:]])


def text_of(picture: str) -> str:
    """Return the text that a picture shows, line by line, with its colour classes left out."""
    rows: dict[float, str] = {}
    for y, text in re.findall(r'<text [^>]*?y="([\d.]+)"[^>]*>([^<]*)</text>', picture):
        rows[float(y)] = rows.get(float(y), "") + text
    return "\n".join(unescape(rows[y]).replace("\xa0", " ") for y in sorted(rows))


async def settled(pilot: Pilot[Any], size: Size | None = None) -> None:
    """Wait until the screen is laid out for `size`, or the terminal's, and nothing moves.

    A new scroll bar wraps a text once more.

    Raises:
        AssertionError: It never comes to rest.
    """
    before: list[Strip] = []
    alike = 0
    for _ in range(200):
        await pilot.pause()
        screen = pilot.app.screen
        for field in screen.query(Input):
            field.cursor_blink = False
        picture = rendered(pilot.app)
        laid_out = screen.outer_size == pilot.app.size == (size or pilot.app.size)
        alike = alike + 1 if laid_out and picture == before else 0
        if alike == 2:
            return
        before = picture
    raise AssertionError("the screen never comes to rest")


@pytest.fixture
def pictures_match(snapshot: SnapshotAssertion) -> PicturesMatch:
    """Take the pictures from one start: the terminal grows, and the screen comes to rest again.

    It raises what the app recorded: a crash still yields a picture (style.md).
    """
    accepted = snapshot.use_extension(Pictures)

    def compare(
        app: App[Any],
        run_before: Runs = None,
        sizes: tuple[tuple[int, int], ...] = SIZES,
    ) -> bool:
        runs = run_before if isinstance(run_before, Mapping) else {"": run_before or (lambda _: None)}
        pictures: dict[str, str] = {}

        async def take_all(pilot: Pilot[Any]) -> None:
            for name, run in runs.items():
                if pilot.app.size != sizes[0]:
                    await pilot.resize_terminal(*sizes[0])
                    await settled(pilot, Size(*sizes[0]))
                if (running := run(pilot)) is not None:
                    await running
                for size in sizes:
                    if size != sizes[0]:
                        await pilot.resize_terminal(*size)
                    await settled(pilot, Size(*size))
                    picture = app.export_screenshot(title=app.title, simplify=True)
                    pictures[f"{name}-" * (len(runs) > 1) + "{}x{}".format(*size)] = picture
            app.exit()

        app.run(headless=True, auto_pilot=take_all, size=sizes[0])
        # Private, and Textual is pinned: nothing public tells after the run.
        if app._exception is not None:
            raise app._exception
        # All are compared, so that all are stored when they are accepted.
        different = [size for size, picture in pictures.items() if accepted(name=size) != picture]
        if different:
            print("different from what was accepted:", ", ".join(different))
            # A picture that differs once in a hundred runs is understood only from what it shows.
            print(*(text_of(pictures[size]) for size in different), sep="\n\n")
        return len(pictures) == len(runs) * len(sizes) and not different

    return compare
