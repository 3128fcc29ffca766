"""Who set which field, as the server's modules know it; what they do is `clientgo.meta.apply.managedfields`."""

from clientgo.meta.apply.managedfields import Manager, after_update, same_but_for_time

__all__ = ["Manager", "after_update", "same_but_for_time"]
