"""`python -m sayso` is the command `sayso`."""

import sys

if not sys.flags.safe_path:
    # `-m` looks for modules in the folder it is started in first, and an agent's workspace is such a folder.
    del sys.path[0]

from sayso.apps.cli.main import run

if __name__ == "__main__":
    run()
