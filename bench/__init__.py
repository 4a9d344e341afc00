"""Measurements: the product beside its floor, in one run. Read docs/performance.md before quoting a figure."""
