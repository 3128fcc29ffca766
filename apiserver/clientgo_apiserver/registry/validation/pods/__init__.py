"""Rules of pods and of what they consist of: containers, volumes, resources."""
