"""Benchmarks that anyone can run; each is a module: `python -m bench.store.start`."""
