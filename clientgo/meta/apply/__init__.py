"""Server-side apply: sets of fields, who manages them, and what an apply makes of an object. Pure functions.

The bundled API server and the fake clientsets do what is written here, so a test on either sees the same.
"""
