#!/usr/bin/env bash
# Create or update the virtual environment: hack/venv.sh PYTHON VENV EXTRA, with an extra of setup.cfg
#
# The stamp VENV/.EXTRA is written last, so an interrupted installation is repeated. make compares its time with that of
# setup.cfg. --no-compile: Python compiles modules on import, and most are never imported; that saves a third of the time
# and size.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$1
venv=$2
extra=$3
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

echo "installing clientgo[$extra] into $venv (once; less than a minute to a few)" >&2
rm -f "$venv/.$extra"
if [ ! -x "$venv/bin/python" ] && ! "$python" -m venv "$venv" >&2; then
    fail "$python cannot create a virtual environment; its venv module may be a package of its own, such as python3-venv"
fi
install=("$venv/bin/python" -m pip install --disable-pip-version-check --no-input --no-compile --editable ".[$extra]")
# All distributions of this checkout, which require each other; the site is built without importing any.
[ "$extra" = docs ] || install+=(--editable ./apiserver --editable ./olm)
if [ -t 2 ]; then
    "${install[@]}" --log "$log" >&2 </dev/null || fail "the packages could not be installed; see above, or $log"
elif ! "${install[@]}" --quiet >"$log" 2>&1 </dev/null; then
    grep -v '^WARNING' "$log" | tail -n 20 >&2
    fail "the packages could not be installed; the output of pip is in $log"
fi
touch "$venv/.$extra"
