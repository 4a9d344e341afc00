"""The guest's side: finding hosts, speaking to them in the agent's name, remembering what was agreed."""
