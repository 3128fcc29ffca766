"""Oracles of perturbation."""
