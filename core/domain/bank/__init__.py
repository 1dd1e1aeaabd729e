"""The memory bank: single items drawn from play, with the words that prove them (design 15)."""
