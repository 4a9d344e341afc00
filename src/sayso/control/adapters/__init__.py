"""Harness adapters: whatever can run an agent, behind one port that speaks OAP payloads."""
