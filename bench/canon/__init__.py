"""Measures the promise that canon holds: facts that are planted, and asked about much later."""
