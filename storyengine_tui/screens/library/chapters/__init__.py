"""Books, chapters and save points as lists."""
