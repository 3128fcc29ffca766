"""`python -m clientgo`: the command `clientgo`."""

import sys

from clientgo.cli.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
