"""The owner's side in a browser: agents, keys, decisions, receipts (GTW-060). On loopback, behind a sign-in."""
