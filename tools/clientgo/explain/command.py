"""`clientgo explain`: descriptions of kinds and their fields, without a server."""

import argparse
import os
import sys
from pathlib import Path

from clientgo.explain.explanation import explain as print_explanation


def explain(options: argparse.Namespace, root: Path) -> int:
    """Print the explanation of `options.target`; raises `ExplainError`."""
    # A module is imported from the project, which is not in the path of an installed script.
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    try:
        print_explanation(
            options.target, api_version=options.api_version, recursive=options.recursive, crds=options.crd
        )
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has read enough; what is left must not be written at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
