#!/usr/bin/env python3
"""Records what a fresh kube-apiserver publishes of itself into apiserver/data: its resources, its schemas, the columns of
its tables, and the objects that it makes when it starts.

Usage: data.py https://127.0.0.1:6443 TOKEN FOLDER
"""

import gzip
import json
import os
import ssl
import sys
import urllib.request

SERVER, TOKEN, FOLDER = sys.argv[1:4]
TRUST_ANYBODY = ssl._create_unverified_context()
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
# What other objects make, or time does.
NOT_AT_START = {"events", "leases", "endpointslices", "endpoints", "componentstatuses", "ipaddresses", "servicecidrs"}


def get(path, accept="application/json"):
    headers = {"Authorization": f"Bearer {TOKEN}", "Accept": accept}
    request = urllib.request.Request(SERVER + path, headers=headers)
    with urllib.request.urlopen(request, context=TRUST_ANYBODY) as answer:
        return json.load(answer)


def write(name, value):
    with open(os.path.join(FOLDER, name), "w") as file:
        json.dump(value, file, separators=(",", ":"))


groups = get("/api", DISCOVERY)["items"] + get("/apis", DISCOVERY)["items"]
write("groups.json", groups)

schemas = {}
for path in get("/openapi/v3")["paths"]:
    if path.startswith("api/v") or (path.startswith("apis/") and path.count("/") == 2):
        schemas.update(get("/openapi/v3/" + path)["components"]["schemas"])
text = json.dumps(schemas, separators=(",", ":"), sort_keys=True)
with open(os.path.join(FOLDER, "schemas.json.gz"), "wb") as file:
    file.write(gzip.compress(text.encode(), 9, mtime=0))

columns, objects, seen = {}, [], set()
for group in groups:
    name = group["metadata"].get("name", "")
    for version in group["versions"]:
        number = version["version"]
        root = f"/apis/{name}/{number}" if name else f"/api/{number}"
        for resource in version["resources"]:
            plural = resource["resource"]
            if "list" not in resource["verbs"]:
                continue
            columns[f"{name}/{number}/{plural}"] = get(f"{root}/{plural}", TABLE)["columnDefinitions"]
            if plural in NOT_AT_START or (name, plural) in seen:
                continue
            seen.add((name, plural))
            for item in get(f"{root}/{plural}")["items"]:
                item["apiVersion"] = f"{name}/{number}" if name else number
                item["kind"] = resource["responseKind"]["kind"]
                for field in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
                    item["metadata"].pop(field, None)
                objects.append(item)
write("columns.json", columns)
write("bootstrap.json", objects)
