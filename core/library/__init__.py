"""Characters and lore from outside of a chapter: character cards and lorebooks (design 14)."""
