"""Benchmark cases, one per file; `benchmarks.cases.all` lists them."""
