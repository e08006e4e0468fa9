"""Answers questions with libchdb: a line of JSON in, a line of JSON out."""

import ctypes
import json
import sys

lib = ctypes.CDLL(sys.argv[1])
lib.chdb_connect.restype = ctypes.POINTER(ctypes.c_void_p)
lib.chdb_connect.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
lib.chdb_query_n.restype = ctypes.c_void_p
lib.chdb_query_n.argtypes = [
    ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t,
]
lib.chdb_result_buffer.restype = ctypes.c_void_p
lib.chdb_result_buffer.argtypes = [ctypes.c_void_p]
lib.chdb_result_length.restype = ctypes.c_size_t
lib.chdb_result_length.argtypes = [ctypes.c_void_p]
lib.chdb_result_error.restype = ctypes.c_char_p
lib.chdb_result_error.argtypes = [ctypes.c_void_p]
lib.chdb_destroy_query_result.argtypes = [ctypes.c_void_p]

connection = lib.chdb_connect(1, (ctypes.c_char_p * 1)(b"clickhouse"))
if not connection:
    sys.exit("libchdb does not connect")

for line in sys.stdin:
    question = json.loads(line)
    sql, form = question["sql"].encode(), question["format"].encode()
    result = lib.chdb_query_n(connection[0], sql, len(sql), form, len(form))
    error = lib.chdb_result_error(result)
    if error:
        answer = {"error": error.decode(errors="replace")}
    else:
        size, at = lib.chdb_result_length(result), lib.chdb_result_buffer(result)
        answer = {"text": ctypes.string_at(at, size).decode(errors="replace") if at and size else ""}
    lib.chdb_destroy_query_result(result)
    print(json.dumps(answer), flush=True)
