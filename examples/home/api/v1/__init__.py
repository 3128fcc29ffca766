"""API types of ajd.my.domain/v1."""
