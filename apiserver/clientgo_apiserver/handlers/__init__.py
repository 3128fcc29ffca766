"""Request handlers, one module per verb, and the subresources, reviews and response forms that several verbs share."""
