"""The validator: bytes of a trace in, a report out; decode, schema and semantic, in that order (OAP-021..036)."""
