"""What a command of the GM, an outcome or a crash makes of a session, as pure functions."""
