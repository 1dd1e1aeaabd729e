"""The first cell of tab 3: memory, its lists where there is a bank, and how both are read (design 10)."""
