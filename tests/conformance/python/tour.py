"""What a program that is written with Kubernetes' Python client sees of an API server.

It goes through one tour and prints a line for everything that it sees, with words in the places of what differs from
server to server and from second to second. The same tour through two servers has to print the same lines.
"""

import json
import os
import re
import sys
import tempfile
import time

import yaml
from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException

DEADLINE = 60
WORDS = [
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)"), "<time>"),
    (re.compile(r'("resourceVersion": ")\d+'), r"\1<version>"),
    (re.compile(r'("continue": ")[^"]+'), r"\1<token>"),
    (re.compile(r"(resource version: |current: |record \(|precondition \()\d+( \(\d+\))?"), r"\1<version>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "<server>"),
]


def say(step, text):
    text = f"{step}: {text}"
    for pattern, word in WORDS:
        text = pattern.sub(word, text)
    print(text, flush=True)


def show(step, seen):
    """An object, as it goes over the wire."""
    if isinstance(seen, dynamic.ResourceInstance):
        seen = seen.to_dict()
    seen = client.ApiClient().sanitize_for_serialization(seen)
    if isinstance(seen, dict) and "managedFields" in seen.get("metadata", {}):
        # By their times, which are in whole seconds, and only those of one second by their names.
        seen["metadata"]["managedFields"].sort(key=lambda entry: (entry["operation"], entry["manager"]))
    say(step, json.dumps(seen, sort_keys=True))


def attempt(step, call):
    """What a call answers, shown, or how it was refused."""
    try:
        seen = call()
    except ApiException as error:
        refused(step, error)
        return None
    show(step, seen)
    return seen


def refused(step, error):
    body = json.loads(error.body)
    causes = (body.get("details") or {}).get("causes") or []
    if len(causes) > 1:
        # They come in any order, and so do they in the message.
        causes.sort(key=lambda cause: json.dumps(cause, sort_keys=True))
        body["message"] = body["message"].split(" is invalid: [")[0]
    kind = type(error).__name__
    say(step, f"{kind} {error.status} {error.reason} {error.headers['Content-Type']} {json.dumps(body, sort_keys=True)}")


def until(what, so):
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if so():
            return
        time.sleep(0.02)
    raise TimeoutError(f"waiting for {what}")


def is_refused(call, status):
    try:
        call()
    except ApiException as error:
        return error.status == status
    return False


def config_map(name, value, labels=None):
    return {"metadata": {"name": name, "labels": labels or {}}, "data": {"value": value}}


def typed(core, namespace):
    """The typed interface: create, read, replace, patch, list, delete."""
    made = attempt("create", lambda: core.create_namespaced_config_map(namespace, config_map("a", "1"), field_manager="maker"))
    attempt("create again", lambda: core.create_namespaced_config_map(namespace, config_map("a", "1")))
    attempt("no name", lambda: core.create_namespaced_config_map(namespace, config_map("Not_A_Name", "1", {"-": "!"})))
    attempt("nothing there", lambda: core.read_namespaced_config_map("nothing", namespace))
    attempt("missing namespace", lambda: core.create_namespaced_config_map("missing", config_map("a", "1")))
    attempt("unknown field", lambda: core.create_namespaced_config_map(
        namespace, {"metadata": {"name": "strict"}, "unknown": 1}, field_validation="Strict"))
    attempt("dry run", lambda: core.create_namespaced_config_map(namespace, config_map("trial", "1"), dry_run="All"))
    made.data["value"] = "2"
    attempt("replace", lambda: core.replace_namespaced_config_map("a", namespace, made))
    attempt("replace with a stale revision", lambda: core.replace_namespaced_config_map("a", namespace, made))
    # A list is sent as a JSON patch, a map as a strategic one.
    attempt("JSON patch", lambda: core.patch_namespaced_config_map("a", namespace, [
        {"op": "test", "path": "/data/value", "value": "2"}, {"op": "add", "path": "/data/more", "value": "3"}]))
    attempt("failing JSON patch", lambda: core.patch_namespaced_config_map("a", namespace, [
        {"op": "test", "path": "/data/value", "value": "9"}]))
    attempt("patch", lambda: core.patch_namespaced_config_map("a", namespace, {"metadata": {"labels": {"l": "1"}}, "data": {"more": None}}))
    attempt("patch of a wrong type", lambda: core.patch_namespaced_config_map("a", namespace, [{"op": "add", "path": "/data/value", "value": 1}]))
    attempt("apply", lambda: core.patch_namespaced_config_map(
        "a", namespace, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"applied": "1"}},
        field_manager="applier", _content_type="application/apply-patch+yaml"))
    attempt("conflict", lambda: core.patch_namespaced_config_map(
        "a", namespace, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"value": "9"}},
        field_manager="applier", _content_type="application/apply-patch+yaml"))
    for number in range(5):
        core.create_namespaced_config_map(namespace, config_map(f"object-{number}", "x", {"odd": str(number % 2)}))
    page = core.list_namespaced_config_map(namespace, label_selector="odd", limit=2)
    while True:
        names = [one.metadata.name for one in page.items]
        say("page", f"{names} more={bool(page.metadata._continue)} left {page.metadata.remaining_item_count}")
        if not page.metadata._continue:
            break
        page = core.list_namespaced_config_map(namespace, label_selector="odd", limit=2, _continue=page.metadata._continue)
    attempt("broken selector", lambda: core.list_namespaced_config_map(namespace, label_selector="a=b=c"))
    attempt("broken page", lambda: core.list_namespaced_config_map(namespace, _continue="!"))
    attempt("by a field", lambda: core.list_namespaced_config_map(namespace, field_selector="metadata.name=object-3"))
    attempt("delete with another uid", lambda: core.delete_namespaced_config_map(
        "a", namespace, body=client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="other"))))
    attempt("delete", lambda: core.delete_namespaced_config_map("a", namespace))
    attempt("delete again", lambda: core.delete_namespaced_config_map("a", namespace))
    attempt("a collection", lambda: core.delete_collection_namespaced_config_map(namespace, label_selector="odd=1"))
    left = core.list_namespaced_config_map(namespace, label_selector="odd")
    say("left", [one.metadata.name for one in left.items])


def watches(core, namespace):
    """Watches from a revision, of a selection, and from one that has expired."""
    listed = core.list_namespaced_config_map(namespace)
    core.create_namespaced_config_map(namespace, config_map("a", "1", {"watched": "yes"}))
    core.create_namespaced_config_map(namespace, config_map("b", "1"))
    core.patch_namespaced_config_map("a", namespace, {"data": {"value": "2"}})
    core.patch_namespaced_config_map("a", namespace, {"metadata": {"labels": {"watched": None}}})
    core.delete_namespaced_config_map("b", namespace)

    def follow(step, end, **options):
        watched = watch.Watch()
        for event in watched.stream(core.list_namespaced_config_map, namespace, timeout_seconds=30, **options):
            seen = event["object"]
            say(step, f"{event['type']} {seen.metadata.name} {seen.metadata.labels} {seen.data['value']}")
            if (event["type"], seen.metadata.name) == end:
                watched.stop()

    from_then = {"resource_version": listed.metadata.resource_version}
    follow("everything", ("DELETED", "b"), **from_then)
    follow("a selection", ("DELETED", "a"), label_selector="watched", **from_then)
    follow("a field", ("DELETED", "b"), field_selector="metadata.name=b", **from_then)
    follow("from now on", ("ADDED", "a"), field_selector="metadata.name=a")
    ended = list(watch.Watch().stream(core.list_namespaced_config_map, namespace, timeout_seconds=1, label_selector="nobody"))
    say("ended by the server", f"after {len(ended)} events")
    attempt("from no revision", lambda: core.list_namespaced_config_map(namespace, watch=True, resource_version="x"))


MANIFESTS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {value: "1"}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {key: value}}
- {apiVersion: v1, kind: Service, metadata: {name: svc}, spec: {selector: {app: x}, ports: [{port: 80}]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
"""


def manifests(core, namespace):
    """Files of manifests."""
    api = client.ApiClient()
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(MANIFESTS)
        file.flush()

        def create():
            try:
                utils.create_from_yaml(api, file.name, namespace=namespace)
                say("create", "done")
            except utils.FailToCreateError as failed:
                for error in failed.api_exceptions:
                    refused("create", error)

        create()
        create()
    with_address = core.read_namespaced_service("svc", namespace)
    with_address.spec.cluster_ip = with_address.spec.cluster_ips = None
    show("the Service", with_address)
    show("the Secret", core.read_namespaced_secret("s", namespace))
    show("the Role", client.RbacAuthorizationV1Api().read_namespaced_role("reader", namespace))


TRINKETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: trinkets.python.example.com}
spec:
  group: python.example.com
  scope: Namespaced
  names: {plural: trinkets, singular: trinket, kind: Trinket, shortNames: [tk]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, minimum: 1, default: 2}
              color: {type: string, enum: [red, green]}
            x-kubernetes-validations:
            - {rule: "!has(self.color) || self.color == oldSelf.color", message: color stays, optionalOldSelf: false}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""


def custom(_, namespace):
    """The dynamic client, on a kind that is made on the way."""
    extensions = client.ApiextensionsV1Api()
    name = "trinkets.python.example.com"
    extensions.create_custom_resource_definition(yaml.safe_load(TRINKETS))

    def established():
        conditions = extensions.read_custom_resource_definition(name).status.conditions or []
        return any(one.type == "Established" and one.status == "True" for one in conditions)

    until("the definition", established)
    objects = client.CustomObjectsApi()
    until("the endpoint", lambda: not is_refused(
        lambda: objects.list_namespaced_custom_object("python.example.com", "v1", namespace, "trinkets"), 404))
    with tempfile.TemporaryDirectory() as folder:
        tour_of_dynamic(namespace, os.path.join(folder, "discovery.json"))
    attempt("by its path", lambda: objects.get_namespaced_custom_object("python.example.com", "v1", namespace, "trinkets", "a"))
    attempt("its status by its path", lambda: objects.patch_namespaced_custom_object_status(
        "python.example.com", "v1", namespace, "trinkets", "a", {"status": {"phase": "Ready"}}))
    extensions.delete_custom_resource_definition(name)
    until("the end of the kind", lambda: is_refused(
        lambda: objects.list_namespaced_custom_object("python.example.com", "v1", namespace, "trinkets"), 404))
    say("the kind", "is gone")


def tour_of_dynamic(namespace, cache):
    api = dynamic.DynamicClient(client.ApiClient(), cache_file=cache)

    def found():
        api.resources.invalidate_cache()
        return bool(api.resources.search(api_version="python.example.com/v1", kind="Trinket"))

    until("discovery", found)
    trinkets = api.resources.get(api_version="python.example.com/v1", kind="Trinket")
    say("found", f"{trinkets.name} {trinkets.singular_name} {trinkets.namespaced} {trinkets.verbs} {trinkets.short_names} {sorted(trinkets.subresources)}")

    def trinket(name, spec):
        return {"apiVersion": "python.example.com/v1", "kind": "Trinket", "metadata": {"name": name}, "spec": spec}

    made = attempt("create", lambda: trinkets.create(body=trinket("a", {"color": "red", "unknown": 1}), namespace=namespace))
    attempt("wrong values", lambda: trinkets.create(body=trinket("b", {"color": "blue", "size": 0}), namespace=namespace))
    attempt("wrong type", lambda: trinkets.create(body=trinket("b", {"size": "big"}), namespace=namespace))
    attempt("merge patch", lambda: trinkets.patch(
        body={"spec": {"size": 3}}, name="a", namespace=namespace, content_type="application/merge-patch+json"))
    attempt("against the rule", lambda: trinkets.patch(
        body={"spec": {"color": "green"}}, name="a", namespace=namespace, content_type="application/merge-patch+json"))
    attempt("strategic merge patch", lambda: trinkets.patch(body={"spec": {"size": 4}}, name="a", namespace=namespace))
    attempt("stale replace", lambda: trinkets.replace(body=made.to_dict(), namespace=namespace))
    attempt("apply", lambda: trinkets.server_side_apply(body=trinket("a", {"size": 5}), namespace=namespace, field_manager="applier"))
    attempt("apply by force", lambda: trinkets.server_side_apply(
        body=trinket("a", {"size": 5}), namespace=namespace, field_manager="applier", force_conflicts=True))
    attempt("status", lambda: trinkets.status.patch(
        body={"status": {"phase": "Set"}, "spec": {"size": 9}}, name="a", namespace=namespace, content_type="application/merge-patch+json"))
    for event in trinkets.watch(namespace=namespace, timeout=1):
        say("watch", f"{event['type']} {event['object'].metadata.name} {event['object'].spec.to_dict()}")
    say("list", [one.metadata.name for one in trinkets.get(namespace=namespace).items])
    attempt("nothing there", lambda: trinkets.get(name="nothing", namespace=namespace))
    attempt("delete nothing", lambda: trinkets.delete(name="nothing", namespace=namespace))
    config_maps = api.resources.get(api_version="v1", kind="ConfigMap")
    attempt("a built-in kind", lambda: config_maps.create(body=config_map("a", "1"), namespace=namespace))


def workloads(core, namespace):
    """Owners, what they own, and ways to delete."""
    apps = client.AppsV1Api()
    spec = {
        "replicas": 0, "paused": True, "selector": {"matchLabels": {"app": "d"}},
        "template": {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "c", "image": "one"}]}},
    }
    made = apps.create_namespaced_deployment(namespace, {"metadata": {"name": "d"}, "spec": spec})
    show("a Deployment", made.spec)
    patched = apps.patch_namespaced_deployment(
        "d", namespace, {"spec": {"template": {"spec": {"containers": [{"name": "c", "env": [{"name": "A", "value": "1"}]}]}}}})
    show("an environment", patched.spec.template.spec.containers)
    attempt("another selector", lambda: apps.patch_namespaced_deployment("d", namespace, {"spec": {"selector": {"matchLabels": {"x": "y"}}}}))
    scaled = apps.patch_namespaced_deployment_scale("d", namespace, {"spec": {"replicas": 0}})
    show("scale", scaled.spec)
    owner = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": made.metadata.uid}]
    for policy in ("Background", "Orphan"):
        name = f"owner-{policy.lower()}"
        held = core.create_namespaced_config_map(namespace, config_map(name, "x"))
        owner = [{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": held.metadata.uid}]
        owned = config_map(f"of-{name}", "x")
        owned["metadata"]["ownerReferences"] = owner
        core.create_namespaced_config_map(namespace, owned)
        core.delete_namespaced_config_map(name, namespace, propagation_policy=policy)
        until("the owner's end", lambda name=name: is_refused(lambda: core.read_namespaced_config_map(name, namespace), 404))
    until("the owned one's end", lambda: is_refused(lambda: core.read_namespaced_config_map("of-owner-background", namespace), 404))
    say("orphan", core.read_namespaced_config_map("of-owner-orphan", namespace).metadata.owner_references)
    attempt("no such policy", lambda: core.delete_namespaced_config_map("a", namespace, propagation_policy="Nothing"))
    attempt("delete in the foreground", lambda: (apps.delete_namespaced_deployment("d", namespace, propagation_policy="Foreground"), None)[1])
    until("its end", lambda: is_refused(lambda: apps.read_namespaced_deployment("d", namespace), 404))
    core.create_namespace({"metadata": {"name": f"{namespace}-more"}})
    core.create_namespaced_config_map(f"{namespace}-more", config_map("a", "1"))
    attempt("delete a namespace", lambda: core.delete_namespace(f"{namespace}-more").status and None)
    until("the namespace's end", lambda: is_refused(lambda: core.read_namespace(f"{namespace}-more"), 404))
    say("the namespace", "is gone")


def rights(core, namespace):
    """Tokens, and what they open."""
    core.create_namespaced_service_account(namespace, {"metadata": {"name": "robot"}})
    token = core.create_namespaced_service_account_token("robot", namespace, {"spec": {"expirationSeconds": 3600}}).status.token
    say("token", f"{token.count('.') + 1} parts")
    mine = client.Configuration.get_default_copy()
    mine.cert_file = mine.key_file = None
    mine.api_key = {"authorization": f"Bearer {token}"}
    robot = client.ApiClient(mine)
    who = client.AuthenticationV1Api(robot).create_self_subject_review({}).status.user_info
    say("who", f"{who.username} {who.groups}")
    review = {"spec": {"resourceAttributes": {"namespace": namespace, "verb": "list", "resource": "configmaps"}}}
    allowed = client.AuthorizationV1Api(robot).create_self_subject_access_review(review).status
    say("may list", allowed.allowed)
    attempt("list", lambda: client.CoreV1Api(robot).list_namespaced_config_map(namespace))
    mine.api_key = {"authorization": "Bearer x.y.z"}
    attempt("no token", lambda: client.CoreV1Api(client.ApiClient(mine)).list_namespaced_config_map(namespace))
    version = client.VersionApi().get_code()
    say("version", f"{version.major}.{version.minor}")
    say("groups", sorted(one.name for one in client.ApisApi().get_api_versions().groups if not one.name.endswith("example.com")))


TOURS = {one.__name__: one for one in (typed, watches, manifests, custom, workloads, rights)}


def main():
    tour = TOURS.get(sys.argv[1] if len(sys.argv) == 2 else "")
    if tour is None:
        sys.exit("usage: KUBECONFIG=<file> tour.py <tour>")
    config.load_kube_config(os.environ["KUBECONFIG"])
    core = client.CoreV1Api()
    namespace = f"py-{tour.__name__}"
    core.create_namespace({"metadata": {"name": namespace}})
    until("the default account", lambda: not is_refused(lambda: core.read_namespaced_service_account("default", namespace), 404))
    until("the authority's certificate", lambda: not is_refused(lambda: core.read_namespaced_config_map("kube-root-ca.crt", namespace), 404))
    tour(core, namespace)


if __name__ == "__main__":
    main()
