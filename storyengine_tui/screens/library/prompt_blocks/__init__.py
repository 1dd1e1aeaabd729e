"""The prompt blocks and variants of a chapter: listed, edited, and what they make of a system prompt."""
