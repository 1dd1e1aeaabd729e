"""Two of several texts are compared: revisions of memory, drafts of the chapter (design 12 and 19)."""
