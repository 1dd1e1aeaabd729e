"""Help with a text of the GM's own."""
