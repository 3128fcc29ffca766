"""Sets of fields, as the server's modules know them; what they do is `clientgo.meta.apply.fieldsets`."""

from clientgo.meta.apply.fieldsets import Path, Rules, is_tree

__all__ = ["Path", "Rules", "is_tree"]
