"""Generator of `clientgo.kubernetes` from the models and API classes of the official client (kubernetes >= 37).

Attributes, JSON names and required fields come from the pydantic models; scope, status and scale from the method names
of the API classes. Everything else is in the tables of `groups`.
"""
