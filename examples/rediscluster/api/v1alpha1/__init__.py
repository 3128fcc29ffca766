"""The kinds of cache.example.com/v1alpha1."""
