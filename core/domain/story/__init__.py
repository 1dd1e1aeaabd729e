"""Parts of a chapter: events, memory, drafts, and the rendering of a transcript (design 4 and 9)."""
