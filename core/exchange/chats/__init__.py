"""Chats of SillyTavern, read into chapters."""
