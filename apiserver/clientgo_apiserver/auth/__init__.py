"""Authentication, RBAC authorization, and the tokens of service accounts."""
