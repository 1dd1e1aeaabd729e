"""Help, bug report, password and welcome."""
