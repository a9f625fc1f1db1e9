# The C types of packing.py, as kernels.pxd has them for kernels.py.

cimport cython
from onelog.records cimport blocks

cdef long long _INT64_MAX
cdef long long _INT32_MAX


@cython.final
cdef class Strings:
    cdef const unsigned char[::1] validity
    cdef Py_ssize_t bit
    cdef const int[::1] ends
    cdef const unsigned char[::1] data
    cdef const unsigned char *bytes
    cdef Py_ssize_t rows

    @cython.locals(bit=Py_ssize_t, at=Py_ssize_t, length=Py_ssize_t)
    cdef (Py_ssize_t, Py_ssize_t) find(self, Py_ssize_t row) noexcept


@cython.final
cdef class Rows:
    cdef const long long[::1] timestamps
    cdef Strings keys
    cdef Strings values
    cdef const int[::1] header_ends
    cdef Strings header_names
    cdef Strings header_values
    cdef readonly Py_ssize_t count

    cpdef object timestamp_ms(self, Py_ssize_t row)


cdef long long _wrapped(long long value) noexcept

@cython.locals(zigzag=cython.ulonglong)
cdef int _put(bytearray out, long long value) except -1

cdef int _put_sized(bytearray out, object data) except -1

@cython.locals(
    out=bytearray, body=bytearray, index=Py_ssize_t, timestamp=cython.longlong
)
cpdef bytearray pack(object records, long long base_timestamp, object offset_deltas)

@cython.locals(zigzag=cython.ulonglong, size=Py_ssize_t)
cdef Py_ssize_t _size(long long value) noexcept

@cython.locals(zigzag=cython.ulonglong)
cdef Py_ssize_t _write(unsigned char *out, Py_ssize_t at, long long value) noexcept

@cython.locals(at=Py_ssize_t, length=Py_ssize_t)
cdef Py_ssize_t _sized_bytes(Strings column, Py_ssize_t row) noexcept

@cython.locals(at=Py_ssize_t, length=Py_ssize_t)
cdef Py_ssize_t _write_sized(unsigned char *out, Py_ssize_t to, Strings column, Py_ssize_t row) noexcept

@cython.locals(
    key=Py_ssize_t, value=Py_ssize_t, size=Py_ssize_t, first=Py_ssize_t, end=Py_ssize_t, header=Py_ssize_t
)
cdef Py_ssize_t _body_bytes(Rows rows, Py_ssize_t row, Py_ssize_t delta, long long timestamp_delta) noexcept

@cython.locals(
    target=cython.p_uchar, first=Py_ssize_t, used=Py_ssize_t, latest=cython.longlong, timestamp=cython.longlong,
    timestamp_delta=cython.longlong, body=Py_ssize_t,
)
cpdef tuple pack_rows(
    unsigned char[::1] out, Rows rows, Py_ssize_t row, Py_ssize_t row_end, long long base_timestamp
)

@cython.locals(first=Py_ssize_t, end=Py_ssize_t, header=Py_ssize_t)
cdef Py_ssize_t _write_headers(unsigned char *out, Py_ssize_t used, Rows rows, Py_ssize_t row) noexcept
