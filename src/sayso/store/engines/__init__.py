"""The engines behind `Store`; each is imported only when a database of its kind is opened."""
