#!/bin/sh
# Delete all objects of the CRDs while the manager runs and removes its finalizers, then the objects in FILE, last the
# CRDs: hack/undeploy.sh [FILE]. `make undeploy` and `make uninstall` set the variables.
set -eu
cd "$(dirname "$0")/.."
file=${1:-} kinds='' hooks='' status=0
delete="$KUBECTL delete --timeout=$TIMEOUT"

explain() {
    echo "error: these objects remain; a controller that does not run, or fails, has not removed its finalizer:"
    $KUBECTL get "$kinds" --all-namespaces \
        -o custom-columns=KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name,FINALIZERS:.metadata.finalizers
    [ ! -f "$file" ] || hooks=$($KUBECTL get -f "$file" --ignore-not-found -o name | grep webhookconfiguration | paste -s -d ' ' -)
    echo "Start the controller, or correct what it logs, and repeat the command. Without it, clean up by hand, and"
    [ -z "$hooks" ] || echo "- delete the webhooks, which may reject the next step: $KUBECTL delete $hooks"
    echo "- remove the finalizers of each object:" \
        "$KUBECTL patch KIND NAME --namespace NAMESPACE --type=merge --patch '{\"metadata\":{\"finalizers\":null}}'"
    echo "- repeat the command"
}

if [ -d config/crd/bases ]; then
    crds=$($KUBECTL get -k config/crd --ignore-not-found -o name)
    kinds=$(echo "$crds" | sed 's|.*/||' | paste -s -d , -)
fi
if [ -n "$kinds" ]; then
    echo "Deleting all objects of $kinds, and waiting up to $TIMEOUT for their finalizers"
    $delete "$kinds" --all --all-namespaces || { explain >&2; exit 1; }
fi
if [ -f "$file" ]; then
    awk 'function flush() { if (!crd) printf "%s", text; text = ""; crd = 0 }
        /^---$/ { flush() }
        /^kind: CustomResourceDefinition$/ { crd = 1 }
        { text = text $0 "\n" }
        END { flush() }' "$file" | $delete --ignore-not-found="$IGNORE_NOT_FOUND" -f - || status=1
fi
if [ -d config/crd/bases ]; then $delete --ignore-not-found="$IGNORE_NOT_FOUND" -k config/crd || status=1; fi
exit $status
