"""Patches: merge, JSON, strategic merge, and server-side apply."""
