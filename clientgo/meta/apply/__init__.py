"""Server-side apply as pure functions: sets of fields, their managers, and the result of an apply.

The bundled API server and the fake clientsets use the same code.
"""
