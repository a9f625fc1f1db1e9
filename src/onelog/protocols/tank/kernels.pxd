# The C types of kernels.py, as records/kernels.pxd has them for its own.

cimport cython
from onelog.records cimport blocks

cdef long long _INT64_MAX
cdef long long _INT32_MAX
cdef unsigned long long _UINT32_MAX
cdef int _KEY_BYTES_MAX
cdef int _HAS_KEY
cdef int _SAME_TIMESTAMP
cdef int _NEXT_NUMBER
cdef int _KNOWN
cdef int _TIME_BYTES


cdef long long _wrapped(long long value) noexcept

@cython.locals(value=cython.ulonglong, shift=cython.int, byte=cython.ulonglong)
cdef (long long, Py_ssize_t) _varint(
    const unsigned char *source, Py_ssize_t pos, Py_ssize_t end
) noexcept

@cython.locals(value=cython.ulonglong, shift=cython.int, byte=cython.ulonglong)
cdef (long long, Py_ssize_t) _uvarint(
    const unsigned char *source, Py_ssize_t pos, Py_ssize_t end
) noexcept

@cython.locals(zigzag=cython.ulonglong, size=Py_ssize_t)
cdef Py_ssize_t _size(long long value) noexcept

@cython.locals(size=Py_ssize_t)
cdef Py_ssize_t _unsigned_size(unsigned long long value) noexcept

@cython.locals(zigzag=cython.ulonglong)
cdef Py_ssize_t _write(unsigned char *out, Py_ssize_t at, long long value) noexcept

cdef Py_ssize_t _write_unsigned(unsigned char *out, Py_ssize_t at, unsigned long long value) noexcept

@cython.locals(value=cython.longlong, each=cython.int)
cdef long long _read_time(const unsigned char *source, Py_ssize_t at) noexcept

@cython.locals(each=cython.int)
cdef Py_ssize_t _write_time(unsigned char *out, Py_ssize_t at, long long value) noexcept

cdef Py_ssize_t _write_sized(
    unsigned char *out, Py_ssize_t to, const unsigned char *source, Py_ssize_t at, Py_ssize_t length
) noexcept

@cython.locals(
    flags=cython.int, at=Py_ssize_t, gap=cython.longlong, time_at=Py_ssize_t, key_length=Py_ssize_t,
    key_at=Py_ssize_t, length=cython.longlong,
)
cdef (
    Py_ssize_t, int, long long, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t
) _message(const unsigned char *source, Py_ssize_t pos, Py_ssize_t end, bint says_gap) noexcept

@cython.locals(
    source=cython.p_uchar, end=Py_ssize_t, target=cython.p_uchar, room=Py_ssize_t, pos=Py_ssize_t,
    used=Py_ssize_t, base=cython.longlong, timestamp=cython.longlong, latest=cython.longlong,
    delta=cython.longlong, index=Py_ssize_t, stop=Py_ssize_t, flags=cython.int, gap=cython.longlong,
    time_at=Py_ssize_t, key_at=Py_ssize_t, key_length=Py_ssize_t, value_at=Py_ssize_t, length=Py_ssize_t,
    timestamp_delta=cython.longlong, body=cython.longlong,
)
cpdef tuple to_log(
    const unsigned char[::1] data, Py_ssize_t count, long long first, long long last, bint is_sparse,
    unsigned char[::1] out
)

@cython.locals(
    length=cython.longlong, at=Py_ssize_t, stop=Py_ssize_t, timestamp_delta=cython.longlong,
    offset_delta=cython.longlong, key_at=Py_ssize_t, key_length=cython.longlong, value_at=Py_ssize_t,
    value_length=cython.longlong, headers=cython.longlong,
)
cdef (
    Py_ssize_t, long long, long long, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t
) _record(const unsigned char *source, Py_ssize_t pos, Py_ssize_t end) noexcept

@cython.locals(
    source=cython.p_uchar, end=Py_ssize_t, pos=Py_ssize_t, found_at=Py_ssize_t, found=Py_ssize_t,
    first=cython.longlong, last=cython.longlong, index=Py_ssize_t, stop=Py_ssize_t, delta=cython.longlong,
    _=cython.longlong,
)
cpdef tuple span(const unsigned char[::1] data, Py_ssize_t count, long long delta_min)

@cython.locals(size=Py_ssize_t)
cdef Py_ssize_t _message_bytes(int flags, long long gap, Py_ssize_t key_length, Py_ssize_t length) noexcept

cdef Py_ssize_t _write_message(
    unsigned char *out, Py_ssize_t to, const unsigned char *source, int flags, long long gap, long long timestamp,
    Py_ssize_t key_at, Py_ssize_t key_length, Py_ssize_t at, Py_ssize_t length
) noexcept

@cython.locals(
    source=cython.p_uchar, end=Py_ssize_t, target=cython.p_uchar, room=Py_ssize_t, first=Py_ssize_t,
    used=Py_ssize_t, before=cython.longlong, said=cython.longlong, long_keys=Py_ssize_t, nulls=Py_ssize_t,
    with_headers=Py_ssize_t, stop=Py_ssize_t, timestamp_delta=cython.longlong, delta=cython.longlong,
    key_at=Py_ssize_t, key_length=Py_ssize_t, value_at=Py_ssize_t, length=Py_ssize_t, headers=Py_ssize_t,
    timestamp=cython.longlong, flags=cython.int, gap=cython.longlong,
)
cpdef tuple to_bundle(
    const unsigned char[::1] data, Py_ssize_t pos, Py_ssize_t index, Py_ssize_t count, long long base,
    bint append_time, bint is_sparse, unsigned char[::1] out
)
