"""The error for text that a window which only reads cannot store."""

from core.domain.errors import SessionLockedError


def unstored(what: str) -> SessionLockedError:
    """Return the error that says that `what` cannot be stored, since another window writes."""
    return SessionLockedError(
        f"Another window writes in this chapter, so {what} cannot be stored.", "Copy it before you leave."
    )
