"""Commands for the library: books, characters, lorebooks, and what is proposed for them."""
