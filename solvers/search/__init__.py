"""The complete search for offsets: its kernel in Python, and the same in C++."""
