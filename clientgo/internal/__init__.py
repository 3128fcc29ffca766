"""Helpers of this project's own distributions, not for users: they may change without notice."""
