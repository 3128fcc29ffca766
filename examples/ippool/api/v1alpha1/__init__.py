"""API types of tsi.tiduyun.com/v1alpha1."""
