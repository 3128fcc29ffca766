#!/usr/bin/env bash
# Make or renew the virtual environment everything runs in: hack/venv.sh PYTHON VENV
#
# The stamp is written last, so an installation that was cut off is done again. It is older than setup.cfg as soon as
# a dependency changes, which is how make knows.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$1
venv=$2
log=$venv/install.log

fail() {
    echo "error: $1" >&2
    exit 1
}

if ! version=$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null); then
    fail "$python does not run; install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3"
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    fail "$python is Python $version, and 3.11 or newer is needed; name one: make PYTHON=/path/to/python3.11"
fi

echo "installing into $venv what setup.cfg asks for (once; half a minute to a few)" >&2
rm -f "$venv/.installed"
if ! "$python" -m venv "$venv" >&2; then
    fail "$python can't make a virtual environment; its venv module may be a package of its own, such as python3-venv"
fi
if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --editable '.[dev]' \
    >"$log" 2>&1 </dev/null; then
    grep -v '^WARNING' "$log" | tail -n 20 >&2
    fail "the packages could not be installed; all that pip said is in $log"
fi
touch "$venv/.installed"
