"""Commands for the database, the password, and the state of the installation."""
