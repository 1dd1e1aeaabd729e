"""Thousands of requests of every kind in many chapters and windows, and the rules that must hold at each."""
