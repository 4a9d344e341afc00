"""The one place that shows terms to a person and signs with their key."""
