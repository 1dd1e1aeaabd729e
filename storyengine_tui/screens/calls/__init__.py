"""What was asked of models, and one call in full."""
