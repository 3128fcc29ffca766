"""How reconciling is told of, in the log and in metrics: for controllers with a manager and for those without."""
