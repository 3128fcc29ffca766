"""The templates: texts that look like what they become."""
