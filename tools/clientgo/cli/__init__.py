"""The command `clientgo`: scaffolds projects, and generates their manifests and clients."""
