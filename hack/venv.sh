#!/usr/bin/env bash
# Create or update the virtual environment: hack/venv.sh PYTHON VENV EXTRA, with an extra of setup.cfg
#
# The checkout is linked, not built (hack/checkout.py). uv installs the packages if it is on PATH, else PYTHON's pip, else
# a pip in the environment, which takes longer to install than all packages that `make run` needs. The stamp VENV/.EXTRA
# is written last, so an interrupted installation is repeated. make compares its time with that of setup.cfg.
# --no-compile: Python compiles modules on import, and most are never imported.
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

echo "installing clientgo[$extra] into $venv (once; a few seconds to a few minutes)" >&2
rm -f "$venv/.$extra"
if [ ! -x "$venv/bin/python" ] && ! "$python" -m venv --without-pip "$venv" >&2; then
    fail "$python cannot create a virtual environment; its venv module may be a package of its own, such as python3-venv"
fi

pip_options=(--disable-pip-version-check --no-input --no-compile)
if command -v uv >/dev/null; then
    install=(uv pip install --python "$venv/bin/python")
elif "$python" -c 'import pip, sys; sys.exit(tuple(map(int, pip.__version__.split(".")[:2])) < (22, 3))' 2>/dev/null; then
    install=("$python" -m pip --python "$venv/bin/python" install "${pip_options[@]}")
elif "$venv/bin/python" -c 'import pip' 2>/dev/null || "$venv/bin/python" -m ensurepip >/dev/null 2>&1; then
    install=("$venv/bin/python" -m pip install "${pip_options[@]}")
else
    fail "neither uv nor pip is installed; Python's ensurepip may be in a package of its own, such as python3-venv"
fi

install_packages() {
    "$venv/bin/python" hack/checkout.py "$extra" &&
        "${install[@]}" "$@" --requirement "$venv/requirements.txt" &&
        if [ -s "$venv/requirements-files.txt" ]; then
            "${install[@]}" "$@" --no-deps --requirement "$venv/requirements-files.txt"
        fi
}
if [ -t 2 ]; then
    install_packages >&2 </dev/null || fail "the packages could not be installed; see above"
elif ! install_packages --quiet >"$log" 2>&1 </dev/null; then
    grep -v '^WARNING' "$log" | tail -n 20 >&2
    fail "the packages could not be installed; the output is in $log"
fi
touch "$venv/.$extra"
