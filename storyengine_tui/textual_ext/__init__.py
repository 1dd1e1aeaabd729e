"""The only package that touches private parts of Textual or Rich."""
