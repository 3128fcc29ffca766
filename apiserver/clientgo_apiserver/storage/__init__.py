"""Storage of objects: one revision counter, the journal on disk, the window of past revisions, and selection.

Watches and paged lists read the window; label and field selectors decide which objects a request means.
"""
