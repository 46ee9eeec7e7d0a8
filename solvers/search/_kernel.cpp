// The search as a Python module: `restart(state)` and `run(state, nodes)`, on the arrays of a `SearchState`.
//
// It keeps to CPython's stable interface, so that one build serves every Python from 3.11 on.
#include "../columns/module.h"
#include "held_array.h"
#include "kernel.h"

namespace {

// An array of the state.
class Array : public HeldArray {
public:
    template <class Row> bool has_rows_of() const { return columns() == columns_of<Row> || refuse(); }

    template <class Row> Table<Row> rows() const {
        return {static_cast<Row *>(view_.buf), view_.len / Int(sizeof(Row))};
    }

    Sets sets() const { return {static_cast<Word *>(view_.buf), columns()}; }

private:
    Int columns() const { return view_.ndim ? view_.shape[view_.ndim - 1] : 1; }
};

// The arrays of a ``SearchState``, in the order of its fields.
class Arrays {
public:
    // Without success, a Python exception is set.
    bool hold(PyObject *state) {
        for (Py_ssize_t at = 0; at < COUNT; ++at) {
            PyObject *array = PyTuple_GetItem(state, at);
            if (!array || !arrays_[at].hold(array, true)) {
                return false;
            }
        }
        return arrays_[CONTROL].has_rows_of<Control>() && arrays_[ITEMS].has_rows_of<Item>() &&
               arrays_[SECTIONS].has_rows_of<Section>() && arrays_[LINKS].has_rows_of<Link>() &&
               arrays_[FRAMES].has_rows_of<Frame>() && arrays_[LOG].has_rows_of<LogEntry>() &&
               arrays_[CHOICES].has_rows_of<Choice>();
    }

    SearchState state() const {
        return {arrays_[CONTROL].rows<Control>()[0],
                arrays_[ITEMS].rows<Item>(),
                arrays_[SECTIONS].rows<Section>(),
                arrays_[LINKS].rows<const Link>(),
                arrays_[SETS].sets(),
                arrays_[FRAMES].rows<Frame>(),
                arrays_[LOG].rows<LogEntry>(),
                arrays_[CHOICES].rows<Choice>()};
    }

private:
    enum { CONTROL, ITEMS, SECTIONS, LINKS, SETS, FRAMES, LOG, CHOICES, COUNT };

    Array arrays_[COUNT];
};

PyObject *restart_state(PyObject *, PyObject *state) {
    Arrays arrays;
    if (!arrays.hold(state)) {
        return nullptr;
    }
    Py_BEGIN_ALLOW_THREADS;
    restart(arrays.state());
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

PyObject *run_state(PyObject *, PyObject *arguments) {
    PyObject *state;
    long long nodes;
    Arrays arrays;
    if (!PyArg_ParseTuple(arguments, "OL", &state, &nodes) || !arrays.hold(state)) {
        return nullptr;
    }
    Int status;
    Py_BEGIN_ALLOW_THREADS;
    status = run(arrays.state(), nodes);
    Py_END_ALLOW_THREADS;
    return PyLong_FromLongLong(status);
}

PyMethodDef functions[] = {
    {"restart", restart_state, METH_O, "Begin again: nothing placed, no frame."},
    {"run", run_state, METH_VARARGS, "Search for at most so many more choices; the status."},
    {"moves", column_moves, METH_O, "What may be in SharedMemory at both borders of a stretch."},
    {"border", column_border, METH_O, "The same, with where the tensors of the stretch lie."},
    {"column_ways", column_ways, METH_O, "The ways to run a stretch of neighbouring ops."},
    {"reach", column_reach, METH_O, "Improve the times of a border by the ways that lead to it."},
    {"reach_back", column_reach_back, METH_O, "Improve the times from a border on by the ways that leave it."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_kernel", nullptr, 0, functions, nullptr, nullptr, nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit__kernel() { return PyModuleDef_Init(&definition); }
