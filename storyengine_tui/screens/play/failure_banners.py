"""The banners of tab 2 for a prompt without a reply and for a summary that failed."""

from collections.abc import Sequence
from datetime import UTC, datetime
from time import monotonic

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.reactive import var
from textual.widgets import Static

from core.domain.requests.request import Request
from core.text.cleaning import clean
from storyengine_tui.screens.play.play_view import PlayView, is_played, reply_failure, summary_failure
from storyengine_tui.widgets.banner import Banner, BannerAction, BannerText, Tone
from storyengine_tui.widgets.text_line import show_line

RETRY_KEY = "ctrl+r"


class FailureBanners(Vertical):
    """Takes no room while nothing has failed. A banner that the GM hid stays hidden until it fails again."""

    view: var[PlayView | None] = var(None, init=False)

    _due = 0.0
    """When the engine retries the summary, on the clock of the banner."""

    def compose(self) -> ComposeResult:
        """Compose two hidden banners and a hidden line."""
        yield Banner(id="reply-failed")
        yield Banner(id="summary-failed")
        yield Static(id="left-out", markup=False)

    def watch_view(self, before: PlayView | None, view: PlayView | None) -> None:
        """Show what failed and was not retried."""
        if view is None:
            return
        if view.failed_summary is not None and (
            before is None or before.failed_summary != view.failed_summary
        ):
            is_news = before is not None and before.session.id == view.session.id
            self._due = monotonic() + _seconds_left(view.failed_summary, is_news=is_news)
        if _reply_facts(before) != _reply_facts(view):
            self.query_one("#reply-failed", Banner).content = _reply_banner(view)
        if _summary_facts(before) != _summary_facts(view):
            self.query_one("#summary-failed", Banner).content = _summary_banner(view, self._due)

    def show_left_out(self, left_out: Sequence[str]) -> None:
        """Say what the model was not given (design 7), each with its reason, if anything."""
        said = f"Left out: {'; '.join(left_out)}. Calls (F7) shows what was sent." if left_out else ""
        show_line(self, "#left-out", said)

    def show_repeated(self, repeats: str) -> None:
        """Say that the newest reply only repeats something, if it does."""
        if repeats:
            said = f"This reply repeats {repeats}; a second try gave no better one. Calls (F7) has both."
            show_line(self, "#left-out", said)


def _reply_facts(view: PlayView | None) -> object:
    """Return what the banner of a reply depends on; an equal value leaves a hidden banner hidden."""
    return view and (view.failed_replies, view.is_writer, view.has_partial)


def _reply_banner(view: PlayView) -> BannerText | None:
    if not view.failed_replies:
        return None
    sentence, hint = reply_failure(view)
    actions = [BannerAction("retry", "Retry", RETRY_KEY)]
    first = view.failed_replies[0]
    if first.follows:
        actions.append(BannerAction("leave-out", "Leave out"))
        actions += [BannerAction("leave-rest", "Leave out all")] if first.then else []
    elif not is_played(first):
        actions.append(BannerAction("edit", "Edit"))
    if view.partial is not None:
        actions.append(BannerAction("keep", "Keep what came"))
    tone = Tone.INFO if view.is_stopped else Tone.ERROR
    return BannerText(clean(sentence), clean(hint), tuple(actions) if view.is_writer else (), tone)


def _summary_facts(view: PlayView | None) -> object:
    """Return what the banner of a summary depends on."""
    return view and (
        view.failed_summary,
        view.failed_summary and (bool(view.failed_replies), view.running is not None, view.is_writer),
    )


def _summary_banner(view: PlayView, due: float) -> BannerText | None:
    request = view.failed_summary
    if request is None:
        return None
    sentence, hint = summary_failure(view, request)
    retry = BannerAction("retry-summary", "Retry", "" if view.failed_replies else RETRY_KEY)
    is_tried_again = request.retry_after is not None and view.is_writer and view.running is None
    return BannerText(
        clean(sentence),
        clean(hint),
        (retry,) if view.is_writer else (),
        Tone.WARNING,
        due if is_tried_again else None,
    )


def _seconds_left(request: Request, *, is_news: bool) -> float:
    """Return the seconds until the automatic retry. `is_news` says that the request has just failed."""
    if request.retry_after is None:
        return 0.0
    now = request.updated_at if is_news else datetime.now(UTC)
    return max(0.0, (request.retry_after - now).total_seconds())
