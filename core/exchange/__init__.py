"""Files in and out: exports, chats, chapter scripts, chapter files, and files of the library."""
