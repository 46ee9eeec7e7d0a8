"""A template of plug-ins for chipmodel: one of each kind, each in a module of its own."""
