"""Small controllers with one realistic bug each, and their correct twins: what perturbation has to tell apart."""
