"""The cases, one in a file; `benchmarks.cases.all` lists them."""
