#!/usr/bin/env bash
# ruamel.yaml 0.19.1 (PyPI)
# Behaviour: deleting a member that came from a merge key succeeds, and the mapping is without it, also as JSON. The
#   text that is written has the merge key as before, so that the member is there again when it is read.
# Expected: KeyError, or a text without the member.
# Matters: a tool that removes a label or a limit from manifests reports success, and the cluster gets the old value.
. "$(dirname "$0")/lib.sh"
pypi ruamel.yaml==0.19.1

observe python - <<'CODE'
import io
import json

from ruamel.yaml import YAML

yaml, written = YAML(), io.StringIO()
manifest = yaml.load("shared: &shared {app: web, tier: front}\nlabels:\n  <<: *shared\n  track: canary\n")
del manifest["labels"]["tier"]
print(json.dumps(manifest["labels"]))
yaml.dump(manifest, written)
print(json.dumps(yaml.load(written.getvalue())["labels"]))
CODE
expect '{"track": "canary", "app": "web"}
{"track": "canary", "app": "web", "tier": "front"}'
