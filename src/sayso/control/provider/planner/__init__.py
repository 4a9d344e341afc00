"""The offline planner: a deterministic model provider that understands requests for appointments, and nothing else."""
