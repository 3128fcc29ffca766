"""The kinds of samplecontroller.c9g.io/v1alpha1."""
