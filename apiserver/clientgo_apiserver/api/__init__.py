"""Terms of the API: resources, users, names, formats, limits, errors as Status objects, and Go's forms of text."""
