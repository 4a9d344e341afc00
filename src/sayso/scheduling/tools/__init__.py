"""Scheduling as operations that an assistant calls, with their consent questions."""
