"""Values that two floors or more use: nothing here reads a file, a socket or the environment, clock and ids apart."""
