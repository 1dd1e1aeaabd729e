"""The commands of `storyengine`, a module each."""
