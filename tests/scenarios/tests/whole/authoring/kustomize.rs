//! The generator as a plugin of kustomize, and the kustomize that is built into the generator.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use reeve_testkit::{Object, Packager, parse, reeve_binary};
use serde_json::{Value, json};

use crate::authoring::folder::{Folder, PLAIN, Ran};

const GENERATOR: &str = "
apiVersion: policy.open-cluster-management.io/v1
kind: PolicyGenerator
metadata:
  name: quotas
policyDefaults:
  namespace: policies
  placement:
    labelSelector: {environment: dev}
policies:
- name: quota
  manifests:
  - path: quota.yaml
    patches:
    - spec:
        hard: {pods: '20'}
- name: dates
  manifests:
  - path: dates.yaml
";

const QUOTA: &str = "
apiVersion: v1
kind: ResourceQuota
metadata:
  name: quota
  namespace: team
spec:
  hard:
    pods: '10'
";

const DATES: &str = "
apiVersion: v1
kind: ConfigMap
metadata:
  name: dates
  namespace: team
data:
  text: |
    one
      two
  empty: ''
  quoted: \"2024-01-02\"
";

/// The link by which kustomize finds the generator.
const PLUGIN: &str = "plugins/policy.open-cluster-management.io/v1/policygenerator/PolicyGenerator";

fn author(kustomization: &str) -> Result<Folder> {
    let folder = Folder::new(&[
        ("kustomization.yaml", kustomization),
        ("generator.yaml", GENERATOR),
        ("quota.yaml", QUOTA),
        ("dates.yaml", DATES),
        ("plugins/README", "programs that kustomize may run"),
    ])?;
    let link = folder.path().join(PLUGIN);
    std::fs::create_dir_all(link.parent().context("no folder")?)?;
    std::os::unix::fs::symlink(reeve_binary()?, link)?;
    Ok(folder)
}

async fn program(packager: Packager) -> Result<PathBuf> {
    tokio::task::spawn_blocking(move || packager.locate())
        .await
        .context("building kustomize")?
}

fn build(folder: &Folder, kustomize: &Path) -> Result<Ran> {
    let plugins = folder.path().join("plugins");
    folder.run(
        kustomize,
        &["build", "--enable-alpha-plugins", "."],
        &[("KUSTOMIZE_PLUGIN_HOME", plugins.as_os_str())],
    )
}

fn objects(text: &str) -> Result<Vec<Value>> {
    let objects: Vec<Object> = parse(text)?;
    let objects = objects.iter().map(serde_json::to_value);
    Ok(objects.collect::<Result<_, _>>()?)
}

/// The objects in an order of their own: kustomize has one, too.
fn sorted(text: &str) -> Result<Vec<Value>> {
    let mut objects = objects(text)?;
    objects.sort_by_key(|object| format!("{} {}", object["kind"], object["metadata"]["name"]));
    Ok(objects)
}

/// kustomize gives out what the generator writes, and transforms it.
pub(crate) async fn plugin() -> Result<()> {
    let kustomize = program(Packager::Kustomize).await?;
    let folder = author("generators: [generator.yaml]\n")?;
    let built = build(&folder, &kustomize)?.ended_with(0)?;
    let own = folder.run(&reeve_binary()?, &["generate", "generator.yaml"], PLAIN)?;
    let own = own.ended_with(0)?;
    ensure!(
        sorted(&built)? == sorted(&own)?,
        "kustomize gives\n{built}instead of\n{own}"
    );
    ensure!(sorted(&own)?.len() == 6, "{own}");

    let transformed = author(
        "generators: [generator.yaml]\nnamespace: elsewhere\nlabels:\n- pairs: {team: a}\nresources: [dates.yaml]\n",
    )?;
    let built = build(&transformed, &kustomize)?.ended_with(0)?;
    for object in objects(&built)? {
        let metadata = &object["metadata"];
        ensure!(metadata["namespace"] == "elsewhere", "{built}");
        ensure!(metadata["labels"]["team"] == "a", "{built}");
    }
    ensure!(objects(&built)?.len() == 7, "{built}");
    Ok(())
}

/// A mistake ends kustomize's build with the generator's text.
pub(crate) async fn plugin_fails() -> Result<()> {
    let kustomize = program(Packager::Kustomize).await?;
    let folder = author("generators: [generator.yaml]\n")?;
    for (generator, expected) in [
        (
            GENERATOR.replace("path: dates.yaml", "path: none.yaml"),
            "could not read the manifest path none.yaml",
        ),
        (
            GENERATOR.replace("  manifests:", "  manifest:"),
            "field manifest found but not defined",
        ),
    ] {
        folder.write("generator.yaml", &generator)?;
        let ran = build(&folder, &kustomize)?;
        ensure!(ran.code == Some(1), "{ran:?}");
        ensure!(ran.out.is_empty(), "{ran:?}");
        ensure!(ran.error.contains(expected), "{ran:?}");
    }
    Ok(())
}

const APP: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
  labels: {own: b}
  annotations: {when: '2024-01-02', on: 'true'}
spec:
  replicas: 2
  selector:
    matchLabels: {app: app}
  template:
    metadata:
      labels: {app: app}
    spec:
      initContainers:
      - name: init
        image: registry.io:5000/team/init@sha256:abc
      containers:
      - name: main
        image: registry.io:5000/team/app:1
        args: ['yes', '0777', \"1.0\"]
      - name: side
        image: side
---
apiVersion: v1
kind: Service
metadata:
  name: app
  namespace: original
spec:
  ports:
  - port: 80
    name: http
  - port: 81
    name: other
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: default
---
apiVersion: v1
kind: Namespace
metadata:
  name: made
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: reads
rules:
- apiGroups: ['']
  resources: [pods]
  verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: reads
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: reads
subjects:
- kind: ServiceAccount
  name: default
  namespace: original
- kind: ServiceAccount
  name: foreign
  namespace: other
- kind: User
  name: somebody
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: reads
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: reads
subjects:
- kind: ServiceAccount
  name: default
- kind: ServiceAccount
  name: robot
- kind: ServiceAccount
  name: robot
  namespace: wrong
- kind: ServiceAccount
  name: robot
  namespace: original
- kind: User
  name: default
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: robot
  namespace: original
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata:
  name: v1.example.com
spec:
  group: example.com
  service:
    name: foreign
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata:
  name: v2.example.com
spec:
  group: example.com
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  conversion:
    strategy: Webhook
    webhook:
      clientConfig:
        service:
          name: foreign
          namespace: original
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: checks
webhooks:
- name: own.example.com
  clientConfig:
    service:
      name: app
      namespace: original
- name: foreign.example.com
  clientConfig:
    service:
      name: foreign
      namespace: original
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata:
  name: newer-than-the-schema-of-kustomize
---
apiVersion: example.com/v1
kind: Widget
metadata:
  name: widget
spec:
  containers:
  - image: side
  size: 1.50
  on: yes
";

/// Kustomizations that are built in, by what they are about.
const KUSTOMIZATIONS: &[(&str, &str)] = &[
    ("resources alone", ""),
    ("a namespace", "namespace: there\n"),
    (
        "labels",
        "labels:\n- pairs: {team: a, own: c}\n- pairs: {second: '2'}\n",
    ),
    (
        "images",
        "images:\n- {name: registry.io:5000/team/app, newTag: '2'}\n- {name: side, newName: new/side, digest: 'sha256:1'}\n- {name: registry.io:5000/team/init, newTag: v3}\n",
    ),
    (
        "strategic merge",
        "patches:\n- path: patch.yaml\n- patch: |\n    apiVersion: v1\n    kind: Service\n    metadata: {name: app, namespace: original}\n    spec: {ports: [{port: 81, name: changed}, {port: 82, name: added}]}\n",
    ),
    (
        "patches that delete",
        "patchesStrategicMerge:\n- patch.yaml\n- |\n  apiVersion: rbac.authorization.k8s.io/v1\n  kind: ClusterRole\n  metadata: {name: reads}\n  $patch: delete\n",
    ),
    ("a prefix", "namePrefix: dev-\n"),
    (
        "a suffix beside a namespace and patches",
        "nameSuffix: -first\nnamespace: there\npatches:\n- path: patch.yaml\n",
    ),
    ("a list", "resources: [list.yaml, base]\n"),
    (
        "a patch for several objects",
        "patches:\n- target: {kind: Service.*, name: app|robot}\n  patch: |-\n    - {op: add, path: /metadata/labels, value: {a: b}}\n- target: {kind: Deployment}\n  path: patch.yaml\n",
    ),
    (
        "a component and annotations",
        "resources: [base]\ncomponents: [part]\ncommonAnnotations: {team: a}\n",
    ),
    (
        "generated objects",
        "resources: [base]\nnamePrefix: dev-\nconfigMapGenerator:\n- {name: made, literals: [a=b], files: [patch.yaml]}\nsecretGenerator:\n- {name: hidden, literals: [a=b], options: {disableNameSuffixHash: true}}\nreplicas:\n- {name: app, count: 3}\n",
    ),
    (
        "everything",
        "namespace: there\nnamePrefix: dev-\nlabels:\n- pairs: {team: a}\nimages:\n- {name: added, newTag: '5'}\npatches:\n- path: patch.yaml\n",
    ),
];

const PATCH: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
spec:
  replicas: null
  template:
    spec:
      containers:
      - name: extra
        image: added:1
      - name: side
        $patch: delete
";

const COMPONENT: &str = "
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
nameSuffix: -part
commonLabels: {part: of}
";

const LIST: &str = "
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: in-list}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: alone}
";

/// What is built in makes the same objects as kustomize.
pub(crate) async fn built_in() -> Result<()> {
    let kustomize = program(Packager::Kustomize).await?;
    for (what, kustomization) in KUSTOMIZATIONS {
        let with_app = if kustomization.contains("resources:") {
            (*kustomization).to_owned()
        } else {
            format!("resources: [base]\n{kustomization}")
        };
        let folder = Folder::new(&[
            ("generator.yaml", &generator_of("k")),
            ("k/kustomization.yaml", &with_app),
            ("k/patch.yaml", PATCH),
            ("k/list.yaml", LIST),
            ("k/base/Kustomization", "resources: [app.yaml]\n"),
            ("k/base/app.yaml", APP),
            ("k/part/kustomization.yaml", COMPONENT),
        ])?;
        let expected = built(&folder, &kustomize)?;
        let found = generated(&folder, OsStr::new("/none"))?;
        ensure!(
            found == expected,
            "{what}: {}",
            differences(&found, &expected)?
        );
    }
    Ok(())
}

/// A field that is not built in is left to a kustomize that is installed; without one it is named.
pub(crate) async fn installed() -> Result<()> {
    let kustomize = program(Packager::Kustomize).await?;
    let path = kustomize.parent().context("no folder")?.as_os_str();
    let folder = Folder::new(&[
        ("generator.yaml", &generator_of("k")),
        (
            "k/kustomization.yaml",
            "resources: [app.yaml]\nnamePrefix: dev-\nvars:\n- name: APP\n  objref: {apiVersion: apps/v1, kind: Deployment, name: app}\n",
        ),
        ("k/app.yaml", APP),
    ])?;
    let expected = built(&folder, &kustomize)?;
    let found = generated(&folder, path)?;
    ensure!(found == expected, "{found:#?}\ninstead of {expected:#?}");
    let without = run_generator(&folder, OsStr::new("/none"))?;
    ensure!(without.code == Some(1), "{without:?}");
    ensure!(
        without
            .error
            .contains("the field vars of kustomization.yaml is not built in"),
        "{without:?}"
    );
    Ok(())
}

/// The objects that kustomize makes of the directory `k`, in their own order.
fn built(folder: &Folder, kustomize: &Path) -> Result<Vec<Value>> {
    let ran = folder.run(kustomize, &["build", "--reorder", "none", "k"], PLAIN)?;
    objects(&ran.ended_with(0)?)
}

/// The objects of two lists that differ.
fn differences(found: &[Value], expected: &[Value]) -> Result<String> {
    let mut text = format!("{} objects instead of {}\n", found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        if found != expected {
            let (found, expected) = (
                serde_json::to_string(found)?,
                serde_json::to_string(expected)?,
            );
            let _ = writeln!(text, "{found}\ninstead of\n{expected}\n");
        }
    }
    Ok(text)
}

fn generator_of(path: &str) -> String {
    json!({
        "apiVersion": "policy.open-cluster-management.io/v1",
        "kind": "PolicyGenerator",
        "metadata": {"name": "g"},
        "policyDefaults": {"namespace": "policies"},
        "policies": [{"name": "p", "manifests": [{"path": path}]}],
    })
    .to_string()
}

fn run_generator(folder: &Folder, path: &OsStr) -> Result<Ran> {
    folder.run(
        &reeve_binary()?,
        &["generate", "generator.yaml"],
        &[("PATH", path)],
    )
}

/// The objects in the policy that the generator makes.
fn generated(folder: &Folder, path: &OsStr) -> Result<Vec<Value>> {
    let text = run_generator(folder, path)?.ended_with(0)?;
    let policies = objects(&text)?;
    let policy = policies.first().context("there is no policy")?;
    let templates =
        policy.pointer("/spec/policy-templates/0/objectDefinition/spec/object-templates");
    let templates = templates
        .and_then(Value::as_array)
        .context("no templates")?;
    let objects = templates.iter().map(|one| one["objectDefinition"].clone());
    Ok(objects.collect())
}
