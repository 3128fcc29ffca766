"""Go types of the built-in kinds: one table, and decoding, order, merge rules and messages that follow from it."""
