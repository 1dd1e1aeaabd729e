"""Screens, panes and dialogs; each with its styles beside it."""
