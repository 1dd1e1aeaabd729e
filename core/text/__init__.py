"""Pure functions over strings: cleaning, graphemes, token estimates."""
