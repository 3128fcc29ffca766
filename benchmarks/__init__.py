"""Benchmarks that compare each figure with a floor and with peers, in the same run. `python -m benchmarks --help`."""
