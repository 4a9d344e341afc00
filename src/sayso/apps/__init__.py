"""Where the parts meet: the house that wires them, and the surfaces a person uses."""
