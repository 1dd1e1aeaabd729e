"""Inputs of models in full, sent or next, and their lengths over a chapter (design 4 and 16)."""
