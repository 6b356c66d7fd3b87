"""The program `growth`, also as `python -m growth_autoscaler`."""

from typing import NoReturn


def main() -> NoReturn:
    """Run the command line of this process and exit."""
    # Not before the package has put the rooms' folder first on the module search path.
    from worker.cli import main as command_line  # noqa: PLC0415

    command_line()


if __name__ == "__main__":
    main()
