"""The memory bank: its lists, the details of an item, and what the GM changes of it."""
