"""What the offline planner can do in a workspace: a small set of plain requests, each one tool. Pure."""
