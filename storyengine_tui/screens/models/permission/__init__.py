"""Consent to calls, and to fetching the weights of a model."""
