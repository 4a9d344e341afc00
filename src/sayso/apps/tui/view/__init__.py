"""What the terminal UI shows: a session's story, and the widgets that draw it, ask questions and tell the status."""
