// The ways of a stretch as a function of Python: arrays of 64-bit integers in, rows of integers out.
#pragma once

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

// `column_ways(arrays)` and `reach(arrays)`: see solvers/columns/kernel.py.
PyObject *column_ways(PyObject *, PyObject *arrays);
PyObject *column_reach(PyObject *, PyObject *arrays);
