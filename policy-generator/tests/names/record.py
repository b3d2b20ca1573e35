#!/usr/bin/env python3
"""Records what kustomize makes of name prefixes and suffixes.

    record.py KUSTOMIZE > recorded.json

KUSTOMIZE is a kustomize of 5.8.1: `go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.1`. The kustomizations are random but
the same each time. `expected` is null where kustomize fails. Needs PyYAML.
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile

import yaml

CASES = 70
random_source = random.Random(28)

NAMES = ["a", "b", "x-a"]
NAMESPACES = [None, None, None, "one", "two"]


def maybe(chance):
    return random_source.random() < chance


def choice(values):
    return random_source.choice(values)


def name():
    return choice(NAMES)


def an_object(api_version, kind, namespaced=True, **fields):
    metadata = {"name": name()}
    namespace = choice(NAMESPACES)
    if namespaced and namespace:
        metadata["namespace"] = namespace
    if "annotations" in fields:
        metadata["annotations"] = fields.pop("annotations")
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def pod_spec():
    container = {
        "name": "c",
        "env": [
            {"name": "E", "valueFrom": {choice(["configMapKeyRef", "secretKeyRef"]): {"name": name(), "key": "k"}}},
            {"name": "F", "value": name()},
        ],
        "envFrom": [{"configMapRef": {"name": name()}}, {"secretRef": {"name": name()}}],
    }
    return {
        "serviceAccountName": name(),
        "serviceAccount": name(),
        "priorityClassName": name(),
        "imagePullSecrets": [{"name": name()}],
        choice(["containers", "initContainers", "ephemeralContainers"]): [container],
        "volumes": [
            {"name": "v", "configMap": {"name": name()}},
            {"name": "w", "secret": {"secretName": name()}},
            {"name": "p", "persistentVolumeClaim": {"claimName": name()}},
            {"name": "q", "projected": {"sources": [{"configMap": {"name": name()}}, {"secret": {"name": name()}}]}},
        ],
    }


def workload():
    kind = choice(["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "Pod", "PodTemplate", "ReplicationController"])
    template = {"spec": pod_spec()}
    if kind == "Pod":
        return an_object("v1", kind, spec=template["spec"])
    if kind == "PodTemplate":
        return an_object("v1", kind, template=template)
    spec = {"template": template}
    if kind == "CronJob":
        return an_object("batch/v1", kind, spec={"jobTemplate": {"spec": spec}})
    if kind == "StatefulSet":
        spec["serviceName"] = name()
        spec["volumeClaimTemplates"] = [{"spec": {"storageClassName": name()}}]
    version = {"Job": "batch/v1", "ReplicationController": "v1"}.get(kind, "apps/v1")
    return an_object(version, kind, spec=spec)


def target():
    return choice([
        lambda: an_object("v1", "ConfigMap"),
        lambda: an_object("v1", "Secret"),
        lambda: an_object("v1", "Service"),
        lambda: an_object("v1", "ServiceAccount", imagePullSecrets=[{"name": name()}], secrets=[{"name": name()}]),
        lambda: an_object("v1", "PersistentVolumeClaim", spec={"storageClassName": name(), "volumeName": name()}),
        lambda: an_object("v1", "PersistentVolume", False, spec={"storageClassName": name(), "azureFile": {"secretName": name()}}),
        lambda: an_object("storage.k8s.io/v1", "StorageClass", False, parameters={"secretName": name(), "other": name()}),
        lambda: an_object("scheduling.k8s.io/v1", "PriorityClass", False),
        lambda: an_object("networking.k8s.io/v1", "IngressClass", False),
        lambda: an_object("v1", "Namespace", False),
        lambda: an_object("apiextensions.k8s.io/v1", "CustomResourceDefinition", False),
        lambda: an_object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", False),
        lambda: an_object("example.com/v1", "Custom", spec={"serviceAccountName": name(), "configMap": {"name": name()}}),
        lambda: an_object("example.com/v1", "ConfigMap"),
    ])()


def subject():
    subject = {"kind": choice(["ServiceAccount", "ServiceAccount", "User"]), "name": name()}
    if maybe(0.6):
        subject["namespace"] = choice(["one", "two", "default"])
    return subject


def rbac():
    rules = [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": [name(), name()], "verbs": ["get"]}]
    group = "rbac.authorization.k8s.io"
    reference = {"apiGroup": group, "kind": choice(["Role", "ClusterRole"]), "name": name()}
    subjects = [subject(), subject()]
    return choice([
        lambda: an_object(f"{group}/v1", "Role", rules=rules),
        lambda: an_object(f"{group}/v1", "ClusterRole", False, rules=rules),
        lambda: an_object(f"{group}/v1", "RoleBinding", roleRef=reference, subjects=subjects),
        lambda: an_object(f"{group}/v1", "ClusterRoleBinding", False, roleRef={**reference, "kind": "ClusterRole"}, subjects=subjects),
    ])()


def other():
    scaled = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name()}
    service = {"name": name(), "namespace": choice(["one", "default"])}
    backend = choice([{"serviceName": name()}, {"service": {"name": name()}}])
    return choice([
        lambda: an_object("autoscaling/v2", "HorizontalPodAutoscaler", spec={"scaleTargetRef": scaled}),
        lambda: an_object(
            "networking.k8s.io/v1",
            "Ingress",
            annotations={"nginx.ingress.kubernetes.io/auth-secret": name(), "other": name()},
            spec={
                "ingressClassName": name(),
                "tls": [{"secretName": name()}],
                "defaultBackend": {"service": {"name": name()}},
                "rules": [{"http": {"paths": [{"backend": backend}]}}],
            },
        ),
        lambda: an_object("apiregistration.k8s.io/v1", "APIService", False, spec={"service": service}),
        lambda: an_object(
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
            False,
            webhooks=[{"name": "w", "clientConfig": {"service": service}}],
        ),
        lambda: an_object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", False, spec={"policyName": name()}),
    ])()


def objects():
    made = []
    for _ in range(random_source.randint(3, 9)):
        made.append(choice([target, target, target, workload, rbac, other])())
    return made


def patch_for(one):
    metadata = dict(one["metadata"])
    metadata.pop("annotations", None)
    if maybe(0.3):
        metadata["name"] = choice(["p-", "q-"]) + metadata["name"]
    if maybe(0.3):
        metadata["namespace"] = choice(["one", "there"])
    patch = {"apiVersion": one["apiVersion"], "kind": one["kind"], "metadata": metadata, "patched": "true"}
    return {"patch": yaml.safe_dump(patch)}


def kustomization(resources):
    fields = {"resources": resources}
    if maybe(0.6):
        fields["namePrefix"] = choice(["p-", "q-", "x-"])
    if maybe(0.3):
        fields["nameSuffix"] = choice(["-s", "-t"])
    if maybe(0.2):
        fields["namespace"] = "there"
    return fields


def a_case():
    """A directory `k`, perhaps with one or two others that it builds on, by the paths of its files."""
    files = {}
    layers = choice([1, 1, 2, 3])
    made = []
    resources = []
    for layer in range(1, layers):
        base = objects()
        made += base
        files[f"k/base{layer}/objects.yaml"] = yaml.safe_dump_all(base)
        files[f"k/base{layer}/kustomization.yaml"] = yaml.safe_dump(kustomization(["objects.yaml"]))
        resources.append(f"base{layer}")
    if layers == 1 or maybe(0.3):
        own = objects()
        made += own
        files["k/objects.yaml"] = yaml.safe_dump_all(own)
        resources.append("objects.yaml")
    top = kustomization(resources)
    if maybe(0.3):
        top["patches"] = [patch_for(choice(made))]
    files["k/kustomization.yaml"] = yaml.safe_dump(top)
    return files


def build(program, files):
    with tempfile.TemporaryDirectory() as directory:
        for path, text in files.items():
            at = pathlib.Path(directory, path)
            at.parent.mkdir(parents=True, exist_ok=True)
            at.write_text(text)
        ran = subprocess.run(
            [program, "build", "--reorder", "none", f"{directory}/k"], capture_output=True, text=True, check=False
        )
    if ran.returncode != 0:
        print(ran.stderr.splitlines()[-1][:200], file=sys.stderr)
        return None
    return [one for one in yaml.safe_load_all(ran.stdout) if one]


def main():
    program = sys.argv[1]
    cases, failures = [], 0
    while len(cases) < CASES:
        files = a_case()
        expected = build(program, files)
        # Most of them collide.
        if expected is None:
            failures += 1
            if failures % 4:
                continue
        cases.append({"files": files, "expected": expected})
    print("[\n" + ",\n".join(json.dumps(case, sort_keys=True) for case in cases) + "\n]")


main()
