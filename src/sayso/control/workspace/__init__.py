"""The tools of our own loop that work on files and run commands, confined to one folder."""
