"""CustomResourceDefinitions: definitions, structural schemas, CEL rules, defaulting, pruning and conversion."""
