"""The GM's actions in tab 2: prompts, takes, the scene, the memory bank (design 9 to 15)."""
