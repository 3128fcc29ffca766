"""Defaults of built-in kinds, as the real server fills them in."""
