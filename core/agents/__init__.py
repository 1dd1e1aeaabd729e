"""The ten agents: what each is told, what it is given, and how its output is read (design 7)."""
