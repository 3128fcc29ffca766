import pytest

from clientgo.meta.apply.mergerules import merge_rule


@pytest.mark.parametrize(
    ("kind", "path", "key"),
    [
        ("Deployment", "spec.template.spec.containers", "name"),
        ("Deployment", "spec.template.spec.initContainers", "name"),
        ("Deployment", "spec.template.spec.containers.ports", "containerPort"),
        ("Deployment", "spec.template.spec.containers.env", "name"),
        ("Deployment", "spec.template.spec.containers.volumeMounts", "mountPath"),
        ("Deployment", "spec.template.spec.volumes", "name"),
        ("Deployment", "spec.template.spec.hostAliases", "ip"),
        ("Deployment", "spec.template.spec.topologySpreadConstraints", "topologyKey"),
        ("Deployment", "status.conditions", "type"),
        ("Deployment", "metadata.ownerReferences", "uid"),
        ("Pod", "spec.containers", "name"),
        ("Pod", "spec.containers.ports", "containerPort"),
        ("CronJob", "spec.jobTemplate.spec.template.spec.containers", "name"),
        ("Service", "spec.ports", "port"),
        ("ServiceAccount", "secrets", "name"),
        ("ValidatingWebhookConfiguration", "webhooks", "name"),
        ("Pod", "spec.tolerations", ""),
        ("Pod", "spec.containers.args", ""),
        ("ServiceAccount", "imagePullSecrets", ""),
        ("CustomResourceDefinition", "status.conditions", ""),
        ("CustomResourceDefinition", "spec.versions", ""),
        ("ConfigMap", "secrets", ""),
        ("Ingress", "spec.rules", ""),
        ("Deployment", "", ""),
    ],
)
def test_lists_are_joined_by_the_key_kubernetes_declares(kind: str, path: str, key: str) -> None:
    rule = merge_rule(kind, path.split(".") if path else ())
    assert (rule.patch_key if rule and rule.merge else "") == key


def test_finalizers_are_joined_as_a_set() -> None:
    rule = merge_rule("Foo", ("metadata", "finalizers"))
    assert rule is not None
    assert (rule.merge, rule.patch_key, rule.list_type) == (True, "", "set")


def test_unions_retain_only_the_keys_a_patch_names() -> None:
    volumes = merge_rule("Pod", ("spec", "volumes"))
    strategy = merge_rule("Deployment", ("spec", "strategy"))
    assert volumes is not None
    assert strategy is not None
    assert (volumes.retain_keys, volumes.merge) == (True, True)
    assert (strategy.retain_keys, strategy.merge) == (True, False)
