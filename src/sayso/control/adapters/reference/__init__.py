"""The memory reference adapter: every unit of the adapter port, deterministic and without network or child process."""
