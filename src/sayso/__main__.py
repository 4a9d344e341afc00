"""`python -m sayso` is the command `sayso`."""

from sayso.apps.cli.main import run

if __name__ == "__main__":
    run()
