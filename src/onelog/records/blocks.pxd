# blocks.py as C has it. The caller keeps the buffer alive as long as it uses the pointer.

from libc.string cimport memcpy


cdef inline unsigned char *start(const unsigned char[::1] data) noexcept:
    return <unsigned char *> &data[0] if data.shape[0] else NULL


cdef inline void copy(
    unsigned char *target, Py_ssize_t to, const unsigned char *source, Py_ssize_t at, Py_ssize_t length
) noexcept:
    memcpy(target + to, source + at, length)
