"""The subjects: each library in a file, used as its documentation advises; every part of it is run as a process.

`python -m benchmarks.peers.<file> <part> [arguments]` does one part, and reports in lines of JSON (`report`).
"""
