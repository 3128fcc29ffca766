"""How the built-in kinds are printed: one `Printer` per kind, found by `clientgo.apiserver.handlers.tables`."""
