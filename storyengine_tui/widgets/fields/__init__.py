"""Text fields with a limit."""
