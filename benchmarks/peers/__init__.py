"""Subjects of the benchmarks: each library in a file, used as its documentation advises.

`python -m benchmarks.peers.<file> <part> [arguments]` performs one part and reports in lines of JSON (`report`).
"""
