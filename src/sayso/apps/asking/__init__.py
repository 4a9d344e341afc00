"""One person talking to their agent: the conversation, the questions they sign, and how it is told to them."""
