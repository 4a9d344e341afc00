"""What is decided without a database, a model or a clock: passages, cues, weights, confidence, fusion, the taxonomy."""
