"""Files in and out: exports, chapter scripts and chapter files."""
