"""What a project is begun with: archives of files, which look like what they become."""
