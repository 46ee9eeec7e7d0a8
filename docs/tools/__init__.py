"""Writers of the generated parts of the documentation; each is a command that prints its part."""
