"""Google generateContent, streaming."""
