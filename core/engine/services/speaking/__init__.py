"""Afterthoughts, heartbeats and hints: what characters say beside the play (design 17)."""
