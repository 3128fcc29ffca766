"""Kinds of plans, and what they share: faults of one run, and runs of other steps than the scenario's."""
