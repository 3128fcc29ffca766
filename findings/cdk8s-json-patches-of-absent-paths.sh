#!/usr/bin/env bash
# cdk8s 2.70.106 with constructs 10.8.1 (npm)
# Behaviour: JsonPatch.remove of a member that does not exist changes nothing, and JsonPatch.replace adds it, both
#   without an error. Adding at index -1 of a list is lost. A test that fails, and a path below an absent member, raise.
# Expected: errors, which RFC 6902 requires for all of them; an API server rejects the removal, too.
# Matters: patches override what a library of constructs generates; a misspelled or renamed path is not noticed, and the
#   manifest keeps what was to be removed.
. "$(dirname "$0")/lib.sh"
npm_packages cdk8s@2.70.106 constructs@10.8.1

observe node --input-type=module - <<'CODE'
import cdk8s from "cdk8s";

const { ApiObject, Chart, JsonPatch, Testing } = cdk8s;
for (const patch of [
  JsonPatch.remove("/spec/hostNetworks"),
  JsonPatch.replace("/spec/dnsPolice", "None"),
  JsonPatch.add("/spec/args/-1", "b"),
  JsonPatch.test("/spec/hostNetwork", false),
]) {
  const chart = new Chart(Testing.app(), "chart");
  const spec = { hostNetwork: true, args: ["a"] };
  const object = new ApiObject(chart, "object", { apiVersion: "v1", kind: "Thing", metadata: { name: "a" }, spec });
  object.addJsonPatch(patch);
  try {
    console.log(JSON.stringify(Testing.synth(chart)[0].spec));
  } catch {
    console.log("error");
  }
}
CODE
expect '{"args":["a"],"hostNetwork":true}
{"args":["a"],"hostNetwork":true,"dnsPolice":"None"}
{"args":["a"],"hostNetwork":true}
error'
