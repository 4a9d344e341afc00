"""OpenAI chat completions, which most compatible servers speak too."""
