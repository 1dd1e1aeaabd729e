"""The schema: its upgrades, the extensions it may use, rows that break its rules (design 11)."""
