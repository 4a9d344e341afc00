"""The door for agents that speak A2A (Agent2Agent), versions 0.3 and 1.0 (GTW-003)."""
