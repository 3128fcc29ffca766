"""The kinds of tsi.tiduyun.com/v1alpha1."""
