"""What is done about each kind."""
