"""The host's endpoint: settings and documents, one unit of work per operation, and the HTTP door in front of them."""
