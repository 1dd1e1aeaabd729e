"""What the GM can do in tab 2: prompts, takes, the scene, the memory bank (design 9 to 15)."""
