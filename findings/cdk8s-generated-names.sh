#!/usr/bin/env bash
# cdk8s 2.70.106 with constructs 10.8.1 (npm)
# Behaviour: an object with generateName gets a generated name as well. The generated name has the ids of the constructs
#   in lower case, with their underscores and dots.
# Expected: no name beside generateName, and a valid name, as the name of the function behind it, toDnsLabel, says.
# Matters: an API server uses the name and ignores generateName, so that a second Job or Workflow is not created but
#   conflicts with the first; names with an underscore are rejected.
. "$(dirname "$0")/lib.sh"
npm_packages cdk8s@2.70.106 constructs@10.8.1

observe node --input-type=module - <<'CODE'
import cdk8s from "cdk8s";

const { ApiObject, Chart, Testing } = cdk8s;
const chart = new Chart(Testing.app(), "My_Chart");
new ApiObject(chart, "Web.App", { apiVersion: "v1", kind: "Thing", metadata: { generateName: "run-" } });
const { name, generateName } = Testing.synth(chart)[0].metadata;
console.log(generateName, name);
CODE
expect "run- my_chart-web.app-c826fc7c"
