// The ways of a stretch as a function of Python: arrays of 64-bit integers in, rows of integers out.
#pragma once

#include "../search/held_array.h"

// `moves(arrays)`, `border(arrays)`, `column_ways(arrays)`, `reach(arrays)` and `reach_back(arrays)`: see solvers/columns/kernel.py.
PyObject *column_moves(PyObject *, PyObject *arrays);
PyObject *column_border(PyObject *, PyObject *arrays);
PyObject *column_ways(PyObject *, PyObject *arrays);
PyObject *column_reach(PyObject *, PyObject *arrays);
PyObject *column_reach_back(PyObject *, PyObject *arrays);
