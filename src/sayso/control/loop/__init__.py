"""Our own agent loop: turns over a provider, tools over sources, questions to the person."""
