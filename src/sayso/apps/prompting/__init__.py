"""One prompt to an agent from a command line: told as it happens, questions answered at the terminal."""
