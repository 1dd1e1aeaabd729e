"""Long texts that are read: wrapping, selection, transcript."""
