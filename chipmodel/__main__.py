"""``python -m chipmodel`` is the ``chipmodel`` command."""

from chipmodel.cli import main

main()
