"""Which model serves which agent, at which account, with which key, and how it is called (design 7 and 8)."""
