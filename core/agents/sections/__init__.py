"""Parts of an input beside the scene: lore, the memory bank, a sheet, silence, words to keep (design 7)."""
