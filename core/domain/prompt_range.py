"""Ranges of prompts, and the alignment of chunks (design 6)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PromptRange:
    """Prompts `first` to `last`, both included; 1 is the first prompt of a session."""

    first: int
    last: int

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.last:
            raise ValueError(f"not a range of prompts: {self.first} to {self.last}")

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __contains__(self, prompt_index: int) -> bool:
        return self.first <= prompt_index <= self.last

    def __str__(self) -> str:
        """Return the range as the GM reads it; what a model is sent writes numbers as the transcript does."""
        return f"{self.first:,}" if self.first == self.last else f"{self.first:,}–{self.last:,}"

    @property
    def named(self) -> str:
        """The range with its noun: `prompt 8`, `prompts 1–7`."""
        return f"prompt{'' if self.first == self.last else 's'} {self}"


def due_chunk(boundary: int, prompt_index: int, chunk_size: int, *, is_ending: bool) -> PromptRange | None:
    """Return the next chunk to summarise, or None when none is due.

    Chunks are aligned (1–7, 8–14, …). Only the last chunk of an ending chapter may be shorter.
    """
    end_of_chunk = (boundary // chunk_size + 1) * chunk_size
    if prompt_index >= end_of_chunk:
        return PromptRange(boundary + 1, end_of_chunk)
    if is_ending and prompt_index > boundary:
        return PromptRange(boundary + 1, prompt_index)
    return None
