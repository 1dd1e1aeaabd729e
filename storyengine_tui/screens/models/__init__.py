"""Screens for models, keys, consent and weights."""
