"""Test doubles: a fake clock, scripted servers, fake clientsets and recorders. Names are imported from the modules."""
