"""The accounts of model services."""
