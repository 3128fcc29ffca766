#!/usr/bin/env bash
# Run the scripts in findings/ and print one line each: hack/findings.sh [name ...]
#
# Exits with 0 only if no behaviour changed. A script whose packages cannot be installed, or that takes too long, counts as
# not run.
set -euo pipefail
cd "$(dirname "$0")/../findings"

names=("$@")
if [ ${#names[@]} = 0 ]; then
    for script in *.sh; do
        if [ "$script" != lib.sh ]; then names+=("${script%.sh}"); fi
    done
fi

changed=0 skipped=0
for name in "${names[@]}"; do
    code=0
    seen=$(timeout 600 "./$name.sh" 2>/dev/null) || code=$?
    case $code in
        0) word=same ;;
        2 | 124) word="not run" skipped=$((skipped + 1)) ;;
        *) word=CHANGED changed=$((changed + 1)) ;;
    esac
    printf '%-8s %-45s %.120s\n' "$word" "$name" "$(echo "$seen" | paste -s -d ' ')"
done
echo "findings: ${#names[@]} run, $skipped not run, $changed changed"
[ $changed = 0 ]
