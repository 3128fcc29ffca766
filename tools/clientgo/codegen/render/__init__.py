"""Python source of the generated modules: types, clients, listers, informers, apply configurations, OpenAPI."""
