"""Texts into vectors: the bundled model, a service, or a script, behind one Protocol (design 15)."""
