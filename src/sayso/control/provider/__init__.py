"""Model providers behind the model-provider-core profile: the port, its machine, and what stands behind it."""
