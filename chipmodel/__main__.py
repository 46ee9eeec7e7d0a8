"""The ``chipmodel`` command, also as ``python -m chipmodel``."""

from chipmodel.terminal.ending import end_at_signals


def run() -> None:
    """Run the command that the command line names, which signals may end from here on."""
    end_at_signals()
    from chipmodel.cli.main import main

    main()


if __name__ == "__main__":
    run()
