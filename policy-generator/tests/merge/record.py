#!/usr/bin/env python3
"""Records what kustomize makes of strategic merge patches.

    record.py KUSTOMIZE > recorded.json

KUSTOMIZE is a kustomize of 5.8.1, with kyaml 0.21.1:
`go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.1`. The objects and patches are random but the same each time.
Needs PyYAML.
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile

import yaml

CASES = 300
random_source = random.Random(58)


def maybe(chance):
    return random_source.random() < chance


def choice(values):
    return random_source.choice(values)


def sample(values, at_most):
    return random_source.sample(values, random_source.randint(0, at_most))


def container(name, is_patch):
    fields = {"name": name}
    if maybe(0.5):
        fields["image"] = choice("ab")
    if maybe(0.5):
        fields["env"] = [{"name": key, "value": choice("12")} for key in sample("xyz", 2)]
    if maybe(0.4):
        ports = sample([(80, "TCP"), (80, "UDP"), (81, "TCP")], 2)
        fields["ports"] = [{"containerPort": port, "protocol": protocol} for port, protocol in ports]
        for port in fields["ports"]:
            if maybe(0.3):
                port["name"] = choice("hg")
    if maybe(0.3):
        fields["args"] = sample("abc", 3)
    if maybe(0.3):
        fields["volumeMounts"] = [{"mountPath": choice(["/a", "/b"]), "name": choice("vw")}]
    if is_patch:
        if maybe(0.15):
            fields["$patch"] = choice(["delete", "replace", "merge"])
        if maybe(0.1):
            fields["image"] = None
        if maybe(0.1):
            fields["resources"] = {"limits": {"cpu": None, "mem": "1"}}
    elif maybe(0.3):
        fields["resources"] = {"limits": {"cpu": "1"}}
    return fields


def pod_spec(is_patch):
    fields = {}
    if maybe(0.8):
        fields["containers"] = [container(name, is_patch) for name in sample(["c1", "c2", "c3"], 3)]
    if maybe(0.3):
        kinds = [{"emptyDir": {}}, {"configMap": {"name": "q"}}]
        fields["volumes"] = [{"name": name, **choice(kinds)} for name in sample("uvw", 2)]
    # Beside other directives, kustomize takes this one for none.
    plain = all("$patch" not in one for one in fields.get("containers", [{"$patch": ""}]))
    if is_patch and plain and maybe(0.2):
        fields["containers"].append({"$patch": "replace"})
    if maybe(0.3):
        fields["tolerations"] = [{"key": choice("ab")}]
    if maybe(0.3):
        fields["nodeSelector"] = {choice("ab"): choice("12")}
    if is_patch and maybe(0.1):
        fields["nodeSelector"] = {"$patch": choice(["replace", "delete"]), "z": "1"}
    if maybe(0.2):
        fields["topologySpreadConstraints"] = [
            {"topologyKey": choice("ab"), "whenUnsatisfiable": choice("XY"), "maxSkew": random_source.randint(1, 2)}
        ]
    if maybe(0.2):
        fields["imagePullSecrets"] = [{"name": choice("ab")}]
    return fields


def metadata(is_patch):
    fields = {"name": "n"}
    if maybe(0.3):
        fields["labels"] = {choice("ab"): choice("12")}
    if is_patch and maybe(0.1):
        fields["labels"] = {"a": None}
    if maybe(0.3):
        fields["finalizers"] = sample(["f1", "f2", "f3"], 2)
    if maybe(0.3):
        fields["annotations"] = {"x": choice("12")}
    return fields


def deployment(is_patch):
    template = {"spec": pod_spec(is_patch)}
    if maybe(0.2):
        template["metadata"] = {"labels": {"l": choice("12")}}
    spec = {"template": template}
    if maybe(0.3):
        spec["replicas"] = random_source.randint(1, 3)
    fields = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(is_patch), "spec": spec}
    if maybe(0.2):
        fields["status"] = {"conditions": [{"type": choice("AB"), "status": choice("xy")}]}
    return fields


def service(is_patch):
    ports = sample([(80, "TCP"), (80, "UDP"), (81, "TCP")], 3)
    ports = [{"port": port, "protocol": protocol} for port, protocol in ports]
    return of_ports(ports, is_patch)


def service_without_protocols(is_patch):
    return of_ports([{"port": port} for port in sample([80, 81, 82], 3)], is_patch)


def service_with_some_protocols(is_patch):
    ports = [{"port": port} for port in sample([80, 81, 82], 3)]
    for port in ports:
        if maybe(0.5):
            port["protocol"] = choice(["TCP", "UDP"])
    return of_ports(ports, is_patch)


def of_ports(ports, is_patch):
    for port in ports:
        if maybe(0.5):
            port["targetPort"] = choice([1, 2])
        if is_patch and maybe(0.1):
            port["$patch"] = "delete"
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata(is_patch), "spec": {"ports": ports}}


def config_map(is_patch):
    fields = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(is_patch), "data": {choice("ab"): choice("12")}}
    if is_patch and maybe(0.3):
        fields["data"] = {"a": None, "c": "1"}
    if is_patch and maybe(0.1):
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n"}, "$patch": "delete"}
    return fields


def custom(is_patch):
    spec = {"containers": [container("c1", is_patch)], "m": {"a": choice([1, "1", True])}}
    return {"apiVersion": "example.com/v1", "kind": "Custom", "metadata": metadata(is_patch), "spec": spec}


KINDS = [
    deployment,
    deployment,
    service,
    service_without_protocols,
    service_with_some_protocols,
    config_map,
    custom,
]


def record(kustomize):
    kind = choice(KINDS)
    case = {"object": kind(False)}
    # kyaml remembers how the first of several values of a field was quoted, which is not looked at here.
    count = 1 if kind is custom else random_source.randint(1, 2)
    patches = [{"patch": json.dumps(kind(True))} for _ in range(count)]
    case["kustomization"] = {"resources": ["object.json", "other.json"], "patches": patches}
    other = {"apiVersion": "v1", "kind": "Other", "metadata": {"name": "other"}}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, content in [("object.json", case["object"]), ("other.json", other), ("kustomization.yaml", case["kustomization"])]:
            (folder / name).write_text(json.dumps(content))
        built = subprocess.run([kustomize, "build", folder], capture_output=True, text=True)
    # Where the object has no such list, kustomize leaves `$patch: replace` in it instead of the list.
    if built.returncode != 0 or "$patch: replace" in built.stdout:
        return None
    case["expected"] = [built for built in yaml.safe_load_all(built.stdout) if built["kind"] != "Other"]
    return case


def main():
    cases = []
    while len(cases) < CASES:
        case = record(sys.argv[1])
        if case is not None:
            cases.append(case)
    print("[")
    print(",\n".join(json.dumps(case) for case in cases))
    print("]")


main()
