"""What a cluster's controllers would do, as far as programs against the bundled server need it."""
