"""What people run: the command line, and the place where the parts are put together."""
