"""The Agent Communication Protocol's door, as its last release (acp-sdk 1.0.3) speaks it (GTW-004)."""
