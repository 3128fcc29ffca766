"""Classes of API kinds: the check of what the codec and the generators support, and lenient construction."""
