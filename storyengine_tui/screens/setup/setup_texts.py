"""What tab 1 says of itself."""

HELP = (
    "World and chapter are locked when you first go to 2 Play. The entries at the bottom switch between the "
    "characters; the number of agents shows or hides panels and forgets nothing."
)
INTRO = "Write world, chapter and cast; then go on to 2 Play (F3)."
READ_ONLY_TEXT = "Read-only in this window: you can read and copy."
LOCKED = "Locked: you can read and copy. Reset Chapter, below, starts a new one."
RESET_WARNING = (
    "Warning, resetting the chapter will delete all cells from the Story Engine, please make sure you "
    "have saved any and all character and setting information before you reset."
)
"""The words of the specification."""
RESET_KEEPS = (
    "Only the cells of this window are emptied. The chapter itself is kept: it moves to the archive "
    "(F5, then v), where you can restore it or delete it for good."
)


def intro(*, is_locked: bool, is_read_only: bool) -> str:
    """Return the line above the cells."""
    if is_read_only:
        return READ_ONLY_TEXT
    return LOCKED if is_locked else INTRO
