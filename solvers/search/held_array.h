// An array of 64-bit numbers, which Python keeps in place for as long as this holds it.
#pragma once

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <cstdint>

class HeldArray {
public:
    HeldArray() = default;
    HeldArray(const HeldArray &) = delete;
    HeldArray &operator=(const HeldArray &) = delete;
    ~HeldArray() { PyBuffer_Release(&view_); }

    // Without success, a Python exception is set.
    bool hold(PyObject *array, bool writable) {
        const int flags = PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
        return PyObject_GetBuffer(array, &view_, flags) >= 0 && (view_.itemsize == sizeof(std::int64_t) || refuse());
    }

protected:
    static bool refuse() {
        PyErr_SetString(PyExc_ValueError, "arrays are not as the compiled kernel takes them");
        return false;
    }

    Py_buffer view_{};
};
