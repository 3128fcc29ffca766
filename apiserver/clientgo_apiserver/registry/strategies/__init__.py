"""Strategies: how each kind prepares and validates its objects, as in kube-apiserver's registry."""
