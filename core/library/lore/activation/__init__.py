"""Decides which entries of lorebooks a text activates, and says of each why or why not."""
