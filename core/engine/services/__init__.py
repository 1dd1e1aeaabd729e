"""Services: what the GM asks for beside the play itself."""
