"""Stand-ins for tests: a clock that is stepped, servers that are scripted. Names are imported from the modules."""
