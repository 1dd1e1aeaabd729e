"""The parts of a character's input beside the scene: lore, the memory bank, its sheet, silence (design 7)."""
