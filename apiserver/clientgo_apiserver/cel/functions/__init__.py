"""Functions and operators of CEL: their declarations in functions.txt, and their implementations."""
