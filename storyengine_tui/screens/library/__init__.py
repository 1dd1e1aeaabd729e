"""The list of chapters and their save slots."""
