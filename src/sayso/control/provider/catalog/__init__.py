"""Which model providers there are, and what is known of them: as data, and from nowhere else (OAP-140..149)."""
