"""The command onelog: one command a file."""
