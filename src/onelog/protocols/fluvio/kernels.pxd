# The C types of kernels.py, as records/kernels.pxd has them for its own.

cimport cython
from onelog.records cimport blocks

cdef long long _INT64_MAX
cdef long long _INT32_MAX
cdef int _SCHEMA_BYTES


@cython.locals(value=cython.ulonglong, shift=cython.int, byte=cython.ulonglong)
cdef (long long, Py_ssize_t) _varint(
    const unsigned char *source, Py_ssize_t pos, Py_ssize_t end
) noexcept

@cython.locals(zigzag=cython.ulonglong, size=Py_ssize_t)
cdef Py_ssize_t _size(long long value) noexcept

@cython.locals(zigzag=cython.ulonglong)
cdef Py_ssize_t _write(unsigned char *out, Py_ssize_t at, long long value) noexcept

@cython.locals(
    length=cython.longlong, body_at=Py_ssize_t, at=Py_ssize_t, stop=Py_ssize_t, timestamp_delta=cython.longlong,
    ignored=cython.longlong, key_at=Py_ssize_t, key_length=cython.longlong, value_at=Py_ssize_t,
    value_length=cython.longlong,
)
cdef (
    Py_ssize_t, Py_ssize_t, long long, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t
) _fluvio_record(const unsigned char *source, Py_ssize_t pos, Py_ssize_t end) noexcept

@cython.locals(
    source=cython.p_uchar, end=Py_ssize_t, target=cython.p_uchar, room=Py_ssize_t, header_source=cython.p_uchar,
    header_bytes=Py_ssize_t, pos=Py_ssize_t, used=Py_ssize_t, latest=cython.longlong, index=Py_ssize_t,
    stop=Py_ssize_t, body_at=Py_ssize_t, timestamp_delta=cython.longlong, key_at=Py_ssize_t,
    key_length=Py_ssize_t, value_at=Py_ssize_t, value_length=Py_ssize_t, key_bytes=Py_ssize_t, body=Py_ssize_t,
)
cpdef tuple to_log(
    const unsigned char[::1] data, Py_ssize_t count, const unsigned char[::1] headers, unsigned char[::1] out
)

@cython.locals(
    length=cython.longlong, body_at=Py_ssize_t, at=Py_ssize_t, stop=Py_ssize_t, timestamp_delta=cython.longlong,
    offset_delta=cython.longlong, key_at=Py_ssize_t, key_length=cython.longlong, value_at=Py_ssize_t,
    value_length=cython.longlong, headers=cython.longlong,
)
cdef (
    Py_ssize_t, Py_ssize_t, long long, long long, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t,
    Py_ssize_t
) _log_record(const unsigned char *source, Py_ssize_t pos, Py_ssize_t end) noexcept

@cython.locals(
    found=cython.longlong, wanted=Py_ssize_t, length=cython.longlong, name_at=Py_ssize_t, is_it=cython.bint,
    each=Py_ssize_t, _=Py_ssize_t,
)
cdef long long _schema_of(
    const unsigned char *source, Py_ssize_t at, Py_ssize_t stop, Py_ssize_t headers, const unsigned char[::1] name
) noexcept

@cython.locals(key_bytes=Py_ssize_t, body=Py_ssize_t)
cdef Py_ssize_t _put(
    unsigned char *out, Py_ssize_t used, Py_ssize_t room, const unsigned char *source, Py_ssize_t body_at,
    long long timestamp_delta, Py_ssize_t place, Py_ssize_t key_at, Py_ssize_t key_length, Py_ssize_t value_at,
    Py_ssize_t value_length
) noexcept

@cython.locals(
    source=cython.p_uchar, end=Py_ssize_t, target=cython.p_uchar, room=Py_ssize_t, first=Py_ssize_t,
    first_delta=cython.longlong, schema=cython.longlong, used=Py_ssize_t, headers_lost=Py_ssize_t,
    nulls_lost=Py_ssize_t, stop=Py_ssize_t, body_at=Py_ssize_t, timestamp=cython.longlong, place=Py_ssize_t,
    delta=cython.longlong, key_at=Py_ssize_t, key_length=Py_ssize_t, value_at=Py_ssize_t,
    value_length=Py_ssize_t, headers=Py_ssize_t, at=Py_ssize_t, own=cython.longlong,
)
cpdef tuple to_fluvio(
    const unsigned char[::1] data, Py_ssize_t pos, Py_ssize_t index, Py_ssize_t count,
    const unsigned char[::1] schema_name, bint append_time, unsigned char[::1] out
)
