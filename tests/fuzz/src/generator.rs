//! Files of the `PolicyGenerator` with their manifests and a kustomize directory, given to the generator as `reeve generate` gives them.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use reeve_policy_generator::{Environment, run};
use serde_json::{Value as Json, json};

use crate::mutate::{Random, damage};

/// The files of a case, in the folder that the generator runs in.
const FILES: [&str; 3] = ["generator.yaml", "manifest.yaml", "k/kustomization.yaml"];

/// What damage puts in.
const PIECES: &[&[u8]] = &[
    b": ",
    b"- ",
    b"\n  ",
    b"\n- ",
    b"[",
    b"]",
    b"{",
    b"}",
    b"&a ",
    b"*a",
    b"<<: *a\n",
    b"---\n",
    b"!!binary ",
    b"|\n",
    b"|4-\n",
    b"\t",
    b"#",
    b"''",
    b"\"\\u2028\"",
    b"\xef\xbb\xbf",
    b"\xff",
    b"~",
    b"yes",
    b"-1",
    b"1e400",
    b"2026-01-01",
    b"99999999999999999999",
    b"policies: ",
    b"policyDefaults: ",
    b"policySets: ",
    b"manifests: ",
    b"manifests:\n- path: k\n",
    b"path: manifest.yaml\n",
    b"path: .\n",
    b"patches: ",
    b"$patch: delete",
    b"$patch: replace",
    b"$setElementOrder/ports: ",
    b"openapi: {path: manifest.yaml}\n",
    b"complianceType: mustonlyhave\n",
    b"remediationAction: enforce\n",
    b"namespaceSelector: {include: ['*']}\n",
    b"evaluationInterval: {compliant: 30m}\n",
    b"orderManifests: true\n",
    b"orderPolicies: true\n",
    b"consolidateManifests: false\n",
    b"dependencies: [{name: a}]\n",
    b"placement: {labelSelector: {a: b}}\n",
    b"placement: {placementPath: manifest.yaml}\n",
    b"placementBindingDefaults: {name: b}\n",
    b"policyAnnotations: {a: b}\n",
    b"kind: List\nitems:\n",
    b"metadata: ",
    b"namePrefix: a-\n",
    b"nameSuffix: -b\n",
    b"namespace: c\n",
    b"labels: [{pairs: {a: b}}]\n",
    b"images: [{name: a, newTag: b}]\n",
    b"resources: [../manifest.yaml]\n",
    b"object-templates-raw: |\n",
    b"{{ fromSecret \"a\" \"b\" \"c\" }}",
];

const MANIFEST: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: cm, namespace: default, annotations: {a: b}}
data: {text: \"\\n two\\nlines \", more: |-\n  a\n  b\n}
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: Probe
metadata: {name: probe}
spec: {}
---
apiVersion: policy.open-cluster-management.io/v1
kind: ConfigurationPolicy
metadata: {name: own}
spec: {remediationAction: inform, object-templates-raw: \"- complianceType: musthave\"}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: placed, namespace: policies}
spec: {predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {a: b}}}}]}
";

const GENERATORS: [&str; 3] = [
    "apiVersion: policy.open-cluster-management.io/v1
kind: PolicyGenerator
metadata: {name: gen}
placementBindingDefaults: {name: binding}
policyDefaults:
  namespace: policies
  placement: {labelSelector: {matchExpressions: [{key: env, operator: In, values: [dev]}]}}
  standards: [NIST]
  policyAnnotations: {x: \"y\"}
  evaluationInterval: {compliant: 30m, noncompliant: 45s}
  namespaceSelector: {include: [default], exclude: [kube-*], matchLabels: {a: b}}
policies:
- name: one
  manifests:
  - path: manifest.yaml
    patches: [{apiVersion: v1, kind: ConfigMap, metadata: {name: cm, namespace: default}, data: {text: null}}]
  - path: k
    complianceType: mustnothave
- name: two
  consolidateManifests: false
  dependencies: [{name: one, compliance: Compliant}]
  severity: high
  policySets: [set]
  manifests: [{path: manifest.yaml, name: named, extraDependencies: [{kind: ConfigurationPolicy, name: a}]}]
policySets:
- {name: set, description: d, policies: [one], placement: {placementName: placed}}
",
    "apiVersion: policy.open-cluster-management.io/v1
kind: PolicyGenerator
metadata: {name: ordered}
policyDefaults: {namespace: policies, orderPolicies: true, orderManifests: true, informGatekeeperPolicies: true}
policies:
- {name: first, placement: {placementPath: manifest.yaml}, manifests: [{path: manifest.yaml}]}
- {name: second, placement: {clusterSelectors: {a: b}, name: own}, manifests: [{path: k, openapi: {path: manifest.yaml}}]}
",
    "apiVersion: policy.open-cluster-management.io/v1
kind: PolicyGenerator
metadata: {name: extended}
policyDefaults:
  namespace: policies
  placement: {clusterSets: [a], numberOfClusters: 2, subFilter: restricted, bindingOverrides: {remediationAction: enforce}}
policies: [{name: p, recordDiff: Log, pruneObjectBehavior: DeleteAll, manifests: [{path: manifest.yaml, objectSelector: {matchLabels: {}}}]}]
",
];

/// Cases: the texts of [`FILES`].
#[derive(Debug, Default)]
pub(crate) struct Generators {
    kustomizations: Vec<String>,
}

impl Generators {
    /// Reads the kustomizations that the generator's tests compare with kustomize.
    pub(crate) fn load() -> Result<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policy-generator/tests");
        let mut kustomizations = Vec::new();
        for recorded in ["merge/recorded.json", "names/recorded.json"] {
            let path = folder.join(recorded);
            let text =
                fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let cases: Vec<Json> = serde_json::from_slice(&text)
                .with_context(|| format!("cannot decode {}", path.display()))?;
            let all = cases.iter().map(|case| &case["kustomization"]);
            kustomizations.extend(all.filter(|one| one.is_object()).map(|one| {
                let text = one.to_string();
                text.replace("object.json", "../manifest.yaml")
            }));
        }
        ensure!(!kustomizations.is_empty(), "no kustomization was recorded");
        Ok(Self { kustomizations })
    }

    /// The files of a case, one of them damaged.
    pub(crate) fn damaged(&self, random: &mut Random) -> Vec<u8> {
        let generator = random.pick(&GENERATORS).copied().unwrap_or_default();
        let kustomization = random.pick(&self.kustomizations).cloned();
        let kustomization = kustomization.unwrap_or_default();
        let mut texts = [generator.to_owned(), MANIFEST.to_owned(), kustomization];
        let graft = random.pick(&texts).cloned().unwrap_or_default();
        let at = random.below(texts.len());
        if let Some(text) = texts.get_mut(at) {
            let mut bytes = text.as_bytes().to_vec();
            damage(&mut bytes, random, graft.as_bytes(), PIECES);
            *text = String::from_utf8_lossy(&bytes).into_owned();
        }
        json!(texts).to_string().into_bytes()
    }
}

/// Generates policies, as upstream does and with all options. The folder of the files bounds what they may refer to.
pub(crate) fn generate(input: &[u8]) {
    let Ok(texts) = serde_json::from_slice::<Vec<String>>(input) else {
        return;
    };
    let Ok(folder) = tempfile::tempdir() else {
        return;
    };
    let _ = fs::create_dir(folder.path().join("k"));
    for (file, text) in FILES.iter().zip(texts) {
        let _ = fs::write(folder.path().join(file), text);
    }
    let file = FILES[0].to_owned();
    let options = ["--strict", "--extended"].map(str::to_owned);
    for arguments in [vec![file.clone()], [&options[..], &[file]].concat()] {
        let _ = run(&arguments, folder.path(), Environment::default());
    }
}
