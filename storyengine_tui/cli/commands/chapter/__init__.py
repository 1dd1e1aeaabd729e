"""Commands that play, change and list chapters, and say what they cost."""
