"""The kinds of the group samplecontroller.k8s.io, one module for each version."""
