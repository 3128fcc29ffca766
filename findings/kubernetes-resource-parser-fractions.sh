#!/usr/bin/env bash
# kubernetes-resource-parser 0.1.0 (npm)
# Behaviour: memoryParser cuts fractions and exponents ("0.5Gi" is 0, "1.5Gi" is 1, "1e3" is 1), and cpuParser does
#   not know the suffix n: "250000000n" is 250000000 CPUs. k8s-resource-parser 0.2.2 reads the memory right and rejects n.
# Expected: 536870912, 1610612736, 1000 and 0.25, or an error.
# Matters: the metrics API reports CPU in n, so that usage looks a billion times too high, and a
#   limit of half a GiB counts as 0.
. "$(dirname "$0")/lib.sh"
npm_packages kubernetes-resource-parser@0.1.0 k8s-resource-parser@0.2.2

observe node --input-type=module - <<'CODE'
import first from "kubernetes-resource-parser";
import second from "k8s-resource-parser";

for (const text of ["0.5Gi", "1.5Gi", "1e3"]) {
  console.log(text, first.memoryParser(text), second.memoryParser(text));
}
try {
  console.log(first.cpuParser("250000000n"), second.cpuParser("250000000n"));
} catch {
  console.log(first.cpuParser("250000000n"), "error");
}
CODE
expect "0.5Gi 0 536870912
1.5Gi 1 1610612736
1e3 1 1000
250000000 error"
