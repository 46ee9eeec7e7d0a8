"""How the arms of a branch share memory."""
