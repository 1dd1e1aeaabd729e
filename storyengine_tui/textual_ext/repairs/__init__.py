"""Replacements for parts of Textual that raise or stop where a user only presses keys."""
