"""OpenAI responses, as a ChatGPT subscription is asked."""
