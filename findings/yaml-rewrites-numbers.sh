#!/usr/bin/env bash
# yaml 2.9.1 (npm)
# Behaviour: a document that is parsed and written again, which keeps comments and most spellings, changes numbers that
#   nobody touched: 0644 becomes 644, and integers beyond 2^53 are rounded. 0o644 and 1.10 stay. ruamel.yaml 0.19.1
#   keeps all four.
# Expected: the text of untouched members.
# Matters: a tool that sets one field of a manifest changes defaultMode: kubectl reads 0644 as octal and 644 as decimal.
. "$(dirname "$0")/lib.sh"
npm_packages yaml@2.9.1
pypi ruamel.yaml==0.19.1

cat >manifest.yaml <<'CODE'
mode: 0644 # octal for kubectl
seed: 12345678901234567890
version: 1.10
other: 0o644
CODE
cat >rewrite.mjs <<'CODE'
import { readFileSync } from "node:fs";
import { parseDocument } from "yaml";

process.stdout.write(String(parseDocument(readFileSync("manifest.yaml", "utf8"))));
CODE
cat >rewrite.py <<'CODE'
import sys
from pathlib import Path

from ruamel.yaml import YAML

yaml = YAML()
yaml.dump(yaml.load(Path("manifest.yaml")), sys.stdout)
CODE

observe bash -c "node rewrite.mjs; python rewrite.py | diff - manifest.yaml && echo the same"
expect "mode: 644 # octal for kubectl
seed: 12345678901234567000
version: 1.10
other: 0o644
the same"
