"""Drives an endpoint, any endpoint, and judges what it did; knows nothing of how ours are built."""
