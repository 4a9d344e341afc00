"""Where a provider's credential comes from, and where it may go (OAP-150..154)."""
