"""Dialogs over the chapter for a secret."""
