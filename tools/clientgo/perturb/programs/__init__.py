"""Operators under perturbation: their clock, requests, watches and threads, in this process and in others."""
