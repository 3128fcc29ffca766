# shellcheck shell=bash
# Shared part of the scripts in this folder, which source it: a temporary folder for the packages, and the verdict.
set -euo pipefail

# The scripts' programs can import fakeserver.
PYTHONPATH=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export PYTHONPATH PYTHONDONTWRITEBYTECODE=1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Install packages of PyPI, and use their interpreter: pypi NAME==VERSION ...
pypi() {
    "${PYTHON:-python3}" -m venv venv
    PATH="$work/venv/bin:$PATH"
    # Most modules of a large client are never imported: compiling all of them takes longer than the script.
    python -m pip install --quiet --disable-pip-version-check --no-compile "$@" 2>pip.log || not_run pip.log
}

# Install packages of npm without their scripts: npm_packages NAME@VERSION ...
npm_packages() {
    npm install --silent --no-save --no-audit --no-fund --ignore-scripts "$@" >npm.log 2>&1 || not_run npm.log
}

not_run() {
    echo "not run: $(tail -n 1 "$1")"
    exit 2
}

# Run a command with the standard input of this function, and keep its output.
observe() {
    seen=$("$@" 2>stderr.log) || true
}

# Print the output, and exit with 0 if it is the expected text, otherwise with 1.
expect() {
    echo "$seen"
    if [ "$seen" = "$1" ]; then exit 0; fi
    tail -n 5 stderr.log >&2
    exit 1
}
