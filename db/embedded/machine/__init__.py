"""The operating system below the embedded server: directories, users, processes, locks."""
