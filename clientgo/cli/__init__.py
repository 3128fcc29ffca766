"""The command `clientgo`: begins a project, adds kinds to it, and has its manifests and clients written."""
