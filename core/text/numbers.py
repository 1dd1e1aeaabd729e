"""Reads numbers from the text of fields, files and models."""

MAX_DIGITS = 9
"""Maximum digits of a count, within the integers of the database."""


def read_count(text: str) -> int | None:
    """Return the whole number in `text`, written in decimal digits only; None for anything else."""
    digits = text.strip()
    return int(digits) if digits.isdecimal() and len(digits) <= MAX_DIGITS else None
