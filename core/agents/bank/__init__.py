"""What a model is asked for the memory bank: what is in a part of play, what of it is known, what is new."""
