"""Backups of a database: dump, restore, rotation."""
