# The C types of kernels.py: what the build adds to the plain source. Nothing here has a body.
#
# `_record` and `_varint` return C structs, so a record costs no object; failing is a negative
# position, so no call has to ask Python whether something was raised.

cimport cython
from onelog.records cimport blocks

cdef long long _INT64_MAX
cdef long long _INT32_MAX
cdef unsigned long long _UINT32_MAX
cdef long long _MILLIS_MAX


@cython.final
cdef class Room:
    cdef public unsigned char[::1] validity
    cdef public int[::1] ends
    cdef public unsigned char[::1] data
    cdef unsigned char *bytes
    cdef public Py_ssize_t rows
    cdef public Py_ssize_t used
    cdef public Py_ssize_t nulls

    @cython.locals(row=Py_ssize_t, used=Py_ssize_t)
    cdef bint add(self, const unsigned char *source, Py_ssize_t at, Py_ssize_t length) noexcept


@cython.final
cdef class Columns:
    cdef public long long[::1] offsets
    cdef public long long[::1] timestamps
    cdef public Room keys
    cdef public Room values
    cdef public int[::1] header_ends
    cdef public Room header_names
    cdef public Room header_values
    cdef public Py_ssize_t rows
    cdef public Py_ssize_t rows_max


@cython.locals(value=cython.longlong)
cpdef long long shifted(long long base, long long delta) noexcept

cdef long long _micros(long long millis) noexcept

@cython.locals(value=cython.ulonglong, shift=cython.int, byte=cython.ulonglong)
cdef (long long, Py_ssize_t) _varint(
    const unsigned char *source, Py_ssize_t pos, Py_ssize_t end
) noexcept

@cython.locals(
    length=cython.longlong, at=Py_ssize_t, stop=Py_ssize_t, timestamp_delta=cython.longlong,
    offset_delta=cython.longlong, key_length=cython.longlong, key_at=Py_ssize_t,
    value_length=cython.longlong, value_at=Py_ssize_t, headers=cython.longlong, headers_at=Py_ssize_t,
)
cdef (
    Py_ssize_t, long long, long long, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t
) _record(const unsigned char *source, Py_ssize_t pos, Py_ssize_t end) noexcept

@cython.locals(length=cython.longlong, _=Py_ssize_t)
cdef Py_ssize_t _headers_end(
    const unsigned char *source, Py_ssize_t at, Py_ssize_t stop, Py_ssize_t headers
) noexcept

@cython.locals(
    source=cython.p_uchar, end=Py_ssize_t, stop=Py_ssize_t, timestamp_delta=cython.longlong, offset_delta=cython.longlong,
    key_at=Py_ssize_t, key_length=Py_ssize_t, value_at=Py_ssize_t, value_length=Py_ssize_t,
    headers=Py_ssize_t, at=Py_ssize_t, length=Py_ssize_t, _=Py_ssize_t,
)
cpdef tuple read(const unsigned char[::1] data, Py_ssize_t pos, Py_ssize_t index)

@cython.locals(
    source=cython.p_uchar, end=Py_ssize_t, pos=Py_ssize_t, index=Py_ssize_t, timestamp_max=cython.longlong, last=cython.longlong,
    gaps=Py_ssize_t, header_count=Py_ssize_t, null_keys=Py_ssize_t, stop=Py_ssize_t,
    timestamp_delta=cython.longlong, offset_delta=cython.longlong, key_length=Py_ssize_t, headers=Py_ssize_t,
)
cpdef tuple walk(const unsigned char[::1] data, Py_ssize_t count)

@cython.locals(
    source=cython.p_uchar, end=Py_ssize_t, pos=Py_ssize_t, index=Py_ssize_t, stop=Py_ssize_t, offset_delta=cython.longlong
)
cpdef tuple seek(const unsigned char[::1] data, Py_ssize_t count, long long offset_delta_min)

@cython.locals(
    source=cython.p_uchar, end=Py_ssize_t, pos=Py_ssize_t, index=Py_ssize_t, stop=Py_ssize_t,
    timestamp=cython.longlong, offset=cython.longlong,
)
cpdef object find_time(
    const unsigned char[::1] data, Py_ssize_t count, long long base_offset, long long base_timestamp,
    long long timestamp_min, long long offset_start, long long offset_end
)

@cython.locals(
    source=cython.p_uchar, end=Py_ssize_t, pos=Py_ssize_t, index=Py_ssize_t, stop=Py_ssize_t,
    timestamp=cython.longlong, offset=cython.longlong, found=cython.bint, latest=cython.longlong,
    latest_offset=cython.longlong,
)
cpdef object find_time_max(
    const unsigned char[::1] data, Py_ssize_t count, long long base_offset, long long base_timestamp,
    long long offset_start, long long offset_end
)

@cython.locals(
    source=cython.p_uchar, end=Py_ssize_t, pos=Py_ssize_t, index=Py_ssize_t, stop=Py_ssize_t, offset_delta=cython.longlong,
    key_at=Py_ssize_t, key_length=Py_ssize_t,
)
cpdef list keys(const unsigned char[::1] data, Py_ssize_t count)

@cython.locals(
    source=cython.p_uchar, end=Py_ssize_t, pos=Py_ssize_t, first=Py_ssize_t, row=Py_ssize_t, index=Py_ssize_t, stop=Py_ssize_t,
    timestamp=cython.longlong, offset=cython.longlong, key_at=Py_ssize_t, key_length=Py_ssize_t,
    value_at=Py_ssize_t, value_length=Py_ssize_t, headers=Py_ssize_t, at=Py_ssize_t,
)
cpdef Py_ssize_t fill(
    const unsigned char[::1] data, Py_ssize_t count, long long base_offset, long long base_timestamp,
    bint append_time, long long offset_start, long long offset_end, Columns columns
) except -1

@cython.locals(
    length=cython.longlong, names=Room, values=Room, _=Py_ssize_t
)
cdef int _fill_headers(
    const unsigned char *source, Py_ssize_t at, Py_ssize_t stop, Py_ssize_t headers, Py_ssize_t row,
    Columns columns
) except -1


@cython.locals(found=cython.ulonglong, at=Py_ssize_t)
cpdef unsigned long long fnv1a(const unsigned char[::1] data) noexcept
