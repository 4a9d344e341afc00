"""What `sayso check` looks at, a file a subject; each gives a `Part`."""
