"""Where files live, and how they are read and written: with a bound, and for their owner alone."""
