"""Printers of the built-in kinds: the columns that `clientgo_apiserver.handlers.tables` prints for each of them."""
