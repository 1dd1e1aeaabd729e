"""What opens over the chapter for a secret."""
