"""Chapter scripts: TOML files that say what is played, read into values."""
