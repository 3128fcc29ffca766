"""Template archives of scaffolded projects."""
