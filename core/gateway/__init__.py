"""The way to a model: consent, then the rate limit, then the call, and the provenance of every call."""
