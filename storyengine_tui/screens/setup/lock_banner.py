"""What there is to say above tab 1: why world and cast are not locked, and what is missing."""

from core.domain.errors import ErrorCode
from core.domain.request import Request
from storyengine_tui.widgets.banner import Banner, BannerAction, Tone


class LockBanner(Banner):
    """A banner that tells of a lock: one that failed can be tried again, or what is written changed."""

    def show_failure(self, request: Request | None) -> None:
        """Say why a lock failed; nothing, if none did."""
        if request is None:
            self.hide()
            return
        is_cancelled = request.error_code is ErrorCode.LLM_CANCELLED
        self.show(
            request.error_message or (request.error_code or ErrorCode.LLM_ERROR).sentence,
            actions=(BannerAction("retry", "Retry", "^r"), BannerAction("edit", "Edit")),
            tone=Tone.INFO if is_cancelled else Tone.ERROR,
        )

    def say(self, sentence: str) -> None:
        """Say what is missing before it can be locked."""
        self.show(sentence, tone=Tone.WARNING)
