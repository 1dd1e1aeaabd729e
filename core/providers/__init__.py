"""Models behind Protocols: messages into a stream of text, texts into vectors (design 8)."""
