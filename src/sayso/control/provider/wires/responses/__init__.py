"""OpenAI responses."""
