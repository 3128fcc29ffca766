"""Rules by which the lists and objects of kinds merge: of the built-in kinds, and of a program's own classes."""
