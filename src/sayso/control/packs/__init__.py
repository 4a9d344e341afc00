"""Worked extension packs, shipped as examples that the tests and `sayso check` load."""
