"""Benchmarks: each figure beside its floor and its peers, measured in the same run. `python -m benchmarks --help`."""
