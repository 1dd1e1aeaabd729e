"""What a character of the library is like, and what it cares about: traits and topics."""
