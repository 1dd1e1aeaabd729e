"""Parts of an input: segments, tokens, digest of memory, lore, memory bank; visibility is the gate."""
