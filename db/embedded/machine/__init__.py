"""The machine below the embedded server: directories, users, processes, locks."""
