"""kubectl with single objects: create, show, change and delete."""

import re
import shutil

import pytest

from tests.e2e.kubectl import GROUP, Kubectl, config_map, deployment, gadget, lines, rows

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")]


def test_apply_creates_then_changes_then_leaves_alone(kubectl: Kubectl) -> None:
    assert kubectl.apply(gadget()) == f"gadget.{GROUP}/a created\n"
    assert kubectl.apply(gadget()) == f"gadget.{GROUP}/a unchanged\n"
    assert kubectl.apply(gadget(replicas=3)) == f"gadget.{GROUP}/a configured\n"
    assert kubectl.read("gadget", "a")["spec"] == {"deploymentName": "a", "replicas": 3}


def test_get_prints_the_columns_of_the_definition(kubectl: Kubectl) -> None:
    kubectl.apply(gadget("a", 1))
    kubectl.apply(gadget("b", 2))
    assert rows(kubectl.run("get", "gd")) == [
        ["NAME", "DEPLOYMENT", "REPLICAS", "AGE"],
        ["a", "a", "1", "AGE"],
        ["b", "b", "2", "AGE"],
    ]
    wide = rows(kubectl.run("get", "gadget", "a", "-o", "wide"))
    assert wide == [["NAME", "DEPLOYMENT", "REPLICAS", "AVAILABLE", "AGE"], ["a", "a", "1", "AGE"]]
    assert rows(kubectl.run("get", "gadgets", "-A"))[0] == ["NAMESPACE", "NAME", "DEPLOYMENT", "REPLICAS", "AGE"]
    assert lines(kubectl.run("get", "gadgets", "-o", "name")) == [f"gadget.{GROUP}/a", f"gadget.{GROUP}/b"]
    columns = "custom-columns=N:.metadata.name,R:.spec.replicas"
    assert rows(kubectl.run("get", "gadgets", "-o", columns)) == [["N", "R"], ["a", "1"], ["b", "2"]]
    assert kubectl.run("get", "gadgets", "-l", "x=y") == f"No resources found in {kubectl.namespace} namespace.\n"


def test_get_pages_through_long_lists(kubectl: Kubectl) -> None:
    listed = [config_map(f"m{index}", n=str(index)) for index in range(7)]
    kubectl.apply({"apiVersion": "v1", "kind": "List", "items": listed})
    result = lines(kubectl.run("get", "cm", "-o", "name", "--chunk-size=3"))
    assert {f"configmap/m{index}" for index in range(7)} <= set(result)


@pytest.mark.feature("A-04")
def test_describe_shows_the_object_and_its_events(kubectl: Kubectl) -> None:
    kubectl.apply(gadget())
    obj = kubectl.read("gadget", "a")
    about = {
        "kind": "Gadget",
        "apiVersion": obj["apiVersion"],
        **{k: obj["metadata"][k] for k in ("name", "namespace", "uid")},
    }
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "a.1"},
        "involvedObject": about,
        "type": "Normal",
        "reason": "Synced",
        "message": "Gadget synced successfully",
        "source": {"component": "sample-controller"},
        "firstTimestamp": obj["metadata"]["creationTimestamp"],
        "lastTimestamp": obj["metadata"]["creationTimestamp"],
        "count": 1,
    }
    kubectl.run("create", "-f", "-", stdin=event)
    described = kubectl.run("describe", "gadget", "a")
    assert re.search(r"^API Version:\s+kubectl\.example\.com/v1$", described, re.MULTILINE)
    assert re.search(r"^  Deployment Name:  a$", described, re.MULTILINE)
    assert re.search(r"Normal\s+Synced\s+\S+\s+sample-controller\s+Gadget synced successfully", described)
    header, row = rows(kubectl.run("get", "events"))
    assert header == ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert row[1:] == ["Normal", "Synced", "gadget/a", "Gadget synced successfully"]
    assert "Gadget synced successfully" in kubectl.run("events", "--for", "gadget/a")


def test_create_refuses_a_name_that_is_taken(kubectl: Kubectl) -> None:
    assert kubectl.run("create", "-f", "-", stdin=gadget()) == f"gadget.{GROUP}/a created\n"
    refused = kubectl.run("create", "-f", "-", stdin=gadget(), code=1)
    assert (
        refused
        == f'Error from server (AlreadyExists): error when creating "STDIN": gadgets.{GROUP} "a" already exists\n'
    )


def test_objects_are_made_from_flags(kubectl: Kubectl) -> None:
    # These commands send protobuf, unlike those that read a file.
    assert kubectl.run("create", "configmap", "m", "--from-literal=a=1") == "configmap/m created\n"
    assert kubectl.read("cm", "m")["data"] == {"a": "1"}
    assert kubectl.run("create", "secret", "generic", "s", "--from-literal=a=1") == "secret/s created\n"
    assert kubectl.read("secret", "s")["data"] == {"a": "MQ=="}
    result = kubectl.run("create", "deployment", "web", "--image=nginx", "--replicas=0", "--port=80")
    assert result == "deployment.apps/web created\n"
    spec = kubectl.read("deploy", "web")["spec"]
    container = spec["template"]["spec"]["containers"][0]
    assert (spec["replicas"], container["image"]) == (0, "nginx")
    assert container["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    other = f"{kubectl.namespace}-2"
    assert kubectl.run("create", "namespace", other, "-n", "default") == f"namespace/{other} created\n"
    kubectl.run("delete", "namespace", other, "--wait=false", "-n", "default")


def test_what_get_prints_can_be_applied(kubectl: Kubectl) -> None:
    kubectl.run("create", "-f", "-", stdin=config_map("m", a="1"))
    listed = kubectl.read("cm")
    for item in listed["items"]:
        del item["metadata"]["resourceVersion"]
    assert "configmap/m configured\n" in kubectl.apply(listed)
    assert "configmap/m unchanged\n" in kubectl.apply(listed)


@pytest.mark.feature("A-21")
def test_invalid_values_are_named(kubectl: Kubectl) -> None:
    refused = kubectl.apply(gadget(replicas=11), code=1)
    reason = "Invalid value: 11: spec.replicas in body should be less than or equal to 10"
    assert refused == f'The Gadget "a" is invalid: spec.replicas: {reason}\n'
    spec = gadget()
    del spec["spec"]["deploymentName"]
    assert "spec.deploymentName: Required value" in kubectl.apply(spec, code=1)


def test_unknown_fields_are_rejected_unless_validation_is_off(kubectl: Kubectl) -> None:
    refused = kubectl.apply(gadget(replcas=2), code=1)
    assert 'strict decoding error: unknown field "spec.replcas"' in refused
    assert kubectl.apply(gadget(replcas=2), "--validate=warn") == (
        f'Warning: unknown field "spec.replcas"\ngadget.{GROUP}/a created\n'
    )
    assert "replcas" not in kubectl.read("gadget", "a")["spec"]


def test_replace_and_edit_write_the_whole_object(kubectl: Kubectl) -> None:
    kubectl.run("create", "-f", "-", stdin=gadget())
    assert kubectl.run("replace", "-f", "-", stdin=gadget(replicas=5)) == f"gadget.{GROUP}/a replaced\n"
    edited = kubectl.run("edit", "gadget", "a", KUBE_EDITOR=r"sed -i s/replicas:.5/replicas:\ 7/")
    assert edited == f"gadget.{GROUP}/a edited\n"
    assert kubectl.read("gadget", "a")["spec"]["replicas"] == 7


def test_patches_of_every_type(kubectl: Kubectl) -> None:
    kubectl.apply(gadget())
    kubectl.apply(deployment())
    done = f"gadget.{GROUP}/a patched\n"
    assert kubectl.run("patch", "gadget", "a", "--type=merge", "-p", '{"spec":{"replicas":4}}') == done
    change = '[{"op":"replace","path":"/spec/replicas","value":5}]'
    assert kubectl.run("patch", "gadget", "a", "--type=json", "-p", change) == done
    assert kubectl.run("patch", "gadget", "a", "--type=json", "-p", change) == f"gadget.{GROUP}/a patched (no change)\n"
    sidecar = '{"spec":{"template":{"spec":{"containers":[{"name":"sidecar","image":"x"}]}}}}'
    assert kubectl.run("patch", "deploy", "d", "-p", sidecar) == "deployment.apps/d patched\n"
    containers = kubectl.read("deploy", "d")["spec"]["template"]["spec"]["containers"]
    assert {item["name"] for item in containers} == {"nginx", "sidecar"}
    status = '{"status":{"availableReplicas":3}}'
    kubectl.run("patch", "gadget", "a", "--type=merge", "--subresource=status", "-p", status)
    assert kubectl.read("gadget", "a")["status"] == {"availableReplicas": 3}


def test_labels_and_annotations_are_set_changed_and_removed(kubectl: Kubectl) -> None:
    kubectl.apply(gadget())
    assert kubectl.run("label", "gadget", "a", "x=y") == f"gadget.{GROUP}/a labeled\n"
    assert "--overwrite is false" in kubectl.run("label", "gadget", "a", "x=z", code=1)
    assert kubectl.run("label", "gadget", "a", "x=z", "--overwrite") == f"gadget.{GROUP}/a labeled\n"
    assert rows(kubectl.run("get", "gadget", "--show-labels"))[1][-1] == "x=z"
    assert lines(kubectl.run("get", "gadget", "-l", "x in (z)", "-o", "name")) == [f"gadget.{GROUP}/a"]
    assert kubectl.run("label", "gadget", "a", "x-") == f"gadget.{GROUP}/a unlabeled\n"
    assert kubectl.run("annotate", "gadget", "a", "k=v") == f"gadget.{GROUP}/a annotated\n"
    assert kubectl.read("gadget", "a")["metadata"]["annotations"]["k"] == "v"


def test_delete_says_what_is_gone_and_what_never_was(kubectl: Kubectl) -> None:
    kubectl.apply(gadget("a"))
    kubectl.apply(gadget("b"))
    assert kubectl.run("delete", "gadget", "a").startswith(f'gadget.{GROUP} "a" deleted')
    missing = f'Error from server (NotFound): gadgets.{GROUP} "a" not found\n'
    assert kubectl.run("delete", "gadget", "a", code=1) == missing
    assert kubectl.run("get", "gadget", "a", code=1) == missing
    assert kubectl.run("delete", "gadgets", "--all").startswith(f'gadget.{GROUP} "b" deleted')
    assert kubectl.run("delete", "gadgets", "--all") == "No resources found\n"


def test_diff_tells_what_apply_would_change(kubectl: Kubectl) -> None:
    kubectl.apply(gadget())
    kubectl.apply(deployment())
    assert kubectl.run("diff", "-f", "-", stdin=gadget()) == ""
    changed = kubectl.run("diff", "-f", "-", stdin=gadget(replicas=2), code=1)
    assert {"-  replicas: 1", "+  replicas: 2"} <= set(lines(changed))
    changed = kubectl.run("diff", "-f", "-", stdin=deployment(image="nginx:2"), code=1)
    assert {"-      - image: nginx:1", "+      - image: nginx:2"} <= set(lines(changed))


def test_server_side_apply_owns_fields(kubectl: Kubectl) -> None:
    done = "deployment.apps/d serverside-applied\n"
    assert kubectl.apply(deployment(), "--server-side") == done
    assert kubectl.apply(deployment(), "--server-side") == done
    refused = kubectl.apply(deployment(replicas=3), "--server-side", "--field-manager=other", code=1)
    assert refused.startswith('error: Apply failed with 1 conflict: conflict with "kubectl": .spec.replicas\n')
    forced = kubectl.apply(deployment(replicas=3), "--server-side", "--field-manager=other", "--force-conflicts")
    assert forced == done
    assert kubectl.apply(gadget(), "--server-side") == f"gadget.{GROUP}/a serverside-applied\n"


def test_dry_run_on_the_server_stores_nothing(kubectl: Kubectl) -> None:
    assert kubectl.apply(gadget(), "--dry-run=server") == f"gadget.{GROUP}/a created (server dry run)\n"
    kubectl.run("get", "gadget", "a", code=1)
