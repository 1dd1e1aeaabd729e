"""Settings, models, keys, consent, paths and what else the GM configures."""
