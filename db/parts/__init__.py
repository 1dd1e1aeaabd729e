"""Parts of the store: the list of chapters, the record of calls, the save points and the queue."""
