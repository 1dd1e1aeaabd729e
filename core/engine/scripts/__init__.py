"""Plays chapter scripts without a screen."""
