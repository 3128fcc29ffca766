"""The sample controller, written by hand: keeps one Deployment for each Foo."""
