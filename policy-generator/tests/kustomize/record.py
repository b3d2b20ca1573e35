#!/usr/bin/env python3
"""Records what kustomize makes of the directories in `recorded.json`.

    record.py KUSTOMIZE < recorded.json > recorded.new

KUSTOMIZE is a kustomize of 5.8.2, with api 0.21.2:
`go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.2`. To add a directory, add a line with `about` and `files`, and perhaps `binary` with
files in base64. `k` is the directory that is built. Needs PyYAML.
"""

import base64
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml


class Loader(yaml.SafeLoader):
    """Leaves dates as text."""


Loader.yaml_implicit_resolvers = {
    sign: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for sign, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def error_of(text, directory):
    """The error without what differs from run to run, and without values, which kustomize shows in the style of their authors."""
    lines = [line for line in text.splitlines() if not line.startswith(("# Warning", "Flag --reorder", "! "))]
    error = "\n".join(lines).removeprefix("Error: ").strip()
    error = error.replace(directory, "ROOT")
    error = re.sub(r" &\{0x[0-9a-f]+ <nil>\}", "", error)
    for end in ["node contents:", "ID conflict:"]:
        if end in error:
            error = error[: error.index(end) + len(end)]
    return error.split("\n\n****")[0]


def build(program, case):
    with tempfile.TemporaryDirectory() as directory:
        directory = str(pathlib.Path(directory).resolve())
        files = {path: text.encode() for path, text in case["files"].items()}
        files |= {path: base64.b64decode(text) for path, text in case.get("binary", {}).items()}
        for path, content in files.items():
            at = pathlib.Path(directory, path)
            at.parent.mkdir(parents=True, exist_ok=True)
            at.write_bytes(content)
        command = [program, "build", "--reorder", "none", f"{directory}/k"]
        ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if ran.returncode != 0:
            return {"error": error_of(ran.stderr, directory)}
        return {"objects": [one for one in yaml.load_all(ran.stdout, Loader) if one]}


def main():
    cases = []
    for case in json.load(sys.stdin):
        case = {key: case[key] for key in ["about", "files", "binary"] if key in case}
        cases.append({**case, **build(sys.argv[1], case)})
    print("[\n" + ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases) + "\n]")


main()
