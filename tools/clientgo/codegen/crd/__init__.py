"""CustomResourceDefinitions: structural schemas from dataclasses, and the API server's checks of them."""
