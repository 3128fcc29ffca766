#!/usr/bin/env bash
# yaml 2.9.1 (npm)
# Behaviour: parseAllDocuments(), the function for files with several manifests, raises nothing: a duplicate key, a
#   wrong indentation and a missing bracket end in the list `errors` of the document, and toJS() gives an object made of
#   what was understood. parse() raises for the same texts.
# Expected: toJS() raises, as parse() does.
# Matters: a manifest with a mistake in its indentation is applied as another object: here `port` moves out of `spec`.
. "$(dirname "$0")/lib.sh"
npm_packages yaml@2.9.1

observe node --input-type=module - <<'CODE'
import { parse, parseAllDocuments } from "yaml";

for (const text of ["spec:\n  image: a\n port: 80\n", "replicas: 1\nreplicas: 2\n", "args: [a, b\nport: 80\n"]) {
  let strict = "parsed";
  try {
    parse(text);
  } catch (error) {
    strict = error.name;
  }
  console.log(strict, JSON.stringify(parseAllDocuments(text).map((document) => document.toJS())));
}
CODE
expect 'YAMLParseError [{"spec":{"image":"a"},"port":80}]
YAMLParseError [{"replicas":2}]
YAMLParseError [{"args":["a","b"],"port":80}]'
