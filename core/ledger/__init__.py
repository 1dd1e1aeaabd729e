"""Money: what calls cost, what they cost together, and what they may cost at most (design 18)."""
