"""Values that are stored, and the protocols of the stores."""
