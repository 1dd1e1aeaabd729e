"""The user interface: the command line, the screens, and the module that puts the parts together."""
