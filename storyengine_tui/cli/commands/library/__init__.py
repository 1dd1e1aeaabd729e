"""`storyengine cast` and `storyengine lore`: character cards and lorebooks."""
