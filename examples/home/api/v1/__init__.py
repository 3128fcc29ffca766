"""The kinds of ajd.my.domain/v1."""
