"""Paths of the program's files, and reads and writes of them: bounded, and private to their owner."""
