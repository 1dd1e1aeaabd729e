"""Rows and values of the domain, both ways."""
