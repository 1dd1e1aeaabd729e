"""Tab 3: memory, definition and drafts."""
