"""The hub over transports; each validates what comes in before the hub acts on it."""
