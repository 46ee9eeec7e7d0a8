"""The complete search for offsets; its kernel is C++ (``kernel.h`` says why it is complete)."""
