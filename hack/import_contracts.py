"""Check of the import contracts in setup.cfg and apiserver/setup.cfg; run by `make imports`."""

import sys

from importlinter.cli import lint_imports

import clientgo
from hack.checkout import ROOT

# The linter reads the folders of a loaded package from it: those of the library and of the tools.
assert len(clientgo.__path__) > 1, "clientgo-tools is linked"
FILES = [ROOT / "setup.cfg", ROOT / "apiserver" / "setup.cfg"]

if __name__ == "__main__":
    results = [lint_imports(config_filename=str(file), no_logo=True) for file in FILES]
    sys.exit(max(results))
