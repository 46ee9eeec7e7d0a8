"""``python -m chipmodel`` is the ``chipmodel`` command."""

from chipmodel.cli.main import main

main()
