"""What is painted and when: fewer bytes for the terminal, and less work for each frame."""
