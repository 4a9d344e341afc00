"""One file a page: what it reads, what its forms do, and which template shows it."""
