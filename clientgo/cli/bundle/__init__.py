"""What the Operator Lifecycle Manager (OLM) installs a project from: a bundle, made of its manifests, and validated."""
