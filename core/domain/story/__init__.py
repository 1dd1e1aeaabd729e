"""What a chapter consists of: events, memory, drafts, and how a transcript is rendered (design 4 and 9)."""
