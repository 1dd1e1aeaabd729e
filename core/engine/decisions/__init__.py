"""Pure functions from a command of the GM, an outcome or a crash to changes of a session."""
