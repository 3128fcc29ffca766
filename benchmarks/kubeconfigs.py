"""Kubeconfigs for the subjects."""

from pathlib import Path


def plain(path: Path, address: str) -> Path:
    """Write a kubeconfig for a server without authentication."""
    path.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: it\n"
        f"clusters: [{{name: it, cluster: {{server: '{address}'}}}}]\n"
        "contexts: [{name: it, context: {cluster: it, user: it}}]\n"
        "users: [{name: it, user: {}}]\n",
        encoding="utf-8",
    )
    return path
