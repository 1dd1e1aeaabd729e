"""A reply that streams, before it is an event."""

from dataclasses import dataclass

from core.domain.requests.request import BackgroundRequest, ReplyRequest
from core.domain.session.session import Session
from core.domain.story.silence import before_marks


@dataclass(slots=True)
class StreamedReply:
    """The request of a reply, and what has come of it."""

    request: ReplyRequest | BackgroundRequest
    has_marks: bool
    """Whether it may be a reply without words: its marks and its reason are not shown."""
    text: str = ""

    @classmethod
    def of(cls, request: ReplyRequest | BackgroundRequest, session: Session) -> "StreamedReply":
        """Return a reply of which nothing has come yet."""
        may_be_silent = isinstance(request, ReplyRequest) and not request.continues
        return cls(request, may_be_silent and request.slot in session.may_be_silent)

    def add(self, text: str) -> str:
        """Add what has come, and return what of it is shown."""
        if not self.has_marks:
            self.text += text
            return text
        before = before_marks(self.text)
        self.text += text
        return before_marks(self.text)[len(before) :]
