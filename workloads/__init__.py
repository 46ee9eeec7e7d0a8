"""Files and built-in networks in, Program out."""
