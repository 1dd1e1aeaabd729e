"""The library of a GM: characters, lorebooks and books, and what becomes of them."""
