"""A small compiler: functions in a typed subset of Python to machine code, by LLVM, kept on disk.

``solvers.search.native.expressions`` and ``solvers.search.native.statements`` say what the subset is.
"""
