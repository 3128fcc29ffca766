"""The front end for Kubernetes' own kinds: reads the official client's models and API classes (kubernetes >= 37).

Their public pydantic fields say which attributes there are, what they are called in JSON and which are required; the
names of the API classes' methods say which kinds are namespaced and have a status or a scale. What neither says is in
the tables of `groups`.
"""
