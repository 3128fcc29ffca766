"""Merging of plain JSON: sets of fields and their managers, server-side apply, strategic merge patches."""
