#!/usr/bin/env bash
# yaml 2.9.1, and cdk8s 2.70.106 with constructs 10.8.1 (npm)
# Behaviour: parseAllDocuments(), the function for files with several manifests, raises nothing: a duplicate key, a
#   wrong indentation and a missing bracket end in the list `errors` of the document, and toJS() gives an object made of
#   what was understood. parse() raises for the same texts. Yaml.load of cdk8s, and so its Include, has that object, too.
# Expected: toJS() raises, as parse() does.
# Matters: a manifest with a mistake in its indentation is applied as another object: here `port` moves out of `spec`.
. "$(dirname "$0")/lib.sh"
npm_packages yaml@2.9.1 cdk8s@2.70.106 constructs@10.8.1

observe node --input-type=module - <<'CODE'
import { writeFileSync } from "node:fs";

import cdk8s from "cdk8s";
import { parse, parseAllDocuments } from "yaml";

for (const text of ["spec:\n  image: a\n port: 80\n", "replicas: 1\nreplicas: 2\n", "args: [a, b\nport: 80\n"]) {
  let strict = "parsed";
  try {
    parse(text);
  } catch (error) {
    strict = error.name;
  }
  const objects = JSON.stringify(parseAllDocuments(text).map((document) => document.toJS()));
  writeFileSync("manifest.yaml", text);
  console.log(strict, objects, JSON.stringify(cdk8s.Yaml.load("manifest.yaml")) === objects);
}
CODE
expect 'YAMLParseError [{"spec":{"image":"a"},"port":80}] true
YAMLParseError [{"replicas":2}] true
YAMLParseError [{"args":["a","b"],"port":80}] true'
