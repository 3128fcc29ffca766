"""Sample controller, written by hand: keeps one Deployment for each Foo."""

COMPONENT = "sample-controller"
"""Name of the program: in events, as a field manager, as the name of Leases."""
