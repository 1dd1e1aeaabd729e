"""The handlers of the kinds of requests."""
