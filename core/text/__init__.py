"""Pure functions over strings: cleaning, graphemes, delimiters, canonical JSON."""
