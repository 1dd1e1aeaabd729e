"""Reads numbers from text that comes from outside: a field, a file or a model."""

MAX_DIGITS = 9
"""Digits of a count; Python refuses to read very long ones, and the database's integers end at ten."""


def read_count(text: str) -> int | None:
    """Return the whole number that `text` says in decimal digits alone, None for anything else."""
    digits = text.strip()
    return int(digits) if digits.isdecimal() and len(digits) <= MAX_DIGITS else None
