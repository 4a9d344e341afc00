"""The task feed's door: work that an owner assigned, and its results (GTW-005, GTW-006)."""
