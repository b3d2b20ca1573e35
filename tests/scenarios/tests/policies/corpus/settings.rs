//! Texts of all sorts.

use crate::corpus::harness::Outcome::{Immutable, Refused, Updated};
use crate::corpus::harness::{Item, PLAIN};

pub(crate) const CONFIG_MAP: Item = Item {
    text: "apiVersion: v1
kind: ConfigMap
metadata: {name: texts, namespace: corpus, annotations: {a/b: '1.0', empty: ''}}
data:
  number: '1'
  decimal: '1.0'
  memory: 1024Mi
  big: '9007199254740993'
  flag: 'true'
  nothing: ''
  \"null\": 'null'
  space: 'ends with a space '
  tabs: \"a\\tb\\r\\nc\"
  unicode: 'žluťoučký 🐴 \u{2028}line'
  lines: |
    [section]
    key = value   
    \ttabbed

    last
  folded: >
    one
    two
  kept: |+
    ends


  date: '2024-01-01'
  colon: 'a: b # c'
binaryData:
  bytes: AAEC/w==
",
    changes: &[
        ("/data/number", Updated),
        ("/data/lines", Updated),
        ("/data/unicode", Updated),
        ("/binaryData/bytes", Refused("illegal base64 data")),
    ],
    only: Updated,
    ..PLAIN
};

pub(crate) const IMMUTABLE_MAP: Item = Item {
    text: "apiVersion: v1
kind: ConfigMap
metadata: {name: fixed, namespace: corpus}
immutable: true
data: {a: b}
",
    changes: &[("/data/a", Immutable), ("/immutable", Immutable)],
    ..PLAIN
};

pub(crate) const EMPTY_MAP: Item = Item {
    text: "apiVersion: v1
kind: ConfigMap
metadata: {name: nothing, namespace: corpus, labels: {}, annotations: {}}
data: {}
",
    ..PLAIN
};

pub(crate) const SECRET: Item = Item {
    text: "apiVersion: v1
kind: Secret
metadata: {name: credentials, namespace: corpus}
type: Opaque
stringData: {user: admin, number: '1', lines: \"a\\nb \", empty: ''}
data: {password: dmVyeSBzZWNyZXQ=, bytes: AAEC/w==}
",
    changes: &[
        ("/type", Immutable),
        ("/data/password", Refused("illegal base64 data")),
    ],
    ..PLAIN
};

pub(crate) const DATA_SECRET: Item = Item {
    text: "apiVersion: v1
kind: Secret
metadata: {name: login, namespace: corpus}
type: kubernetes.io/basic-auth
data: {username: YWRtaW4=, password: c2VjcmV0}
",
    changes: &[("/type", Immutable)],
    ..PLAIN
};

pub(crate) const STRING_SECRET: Item = Item {
    text: "apiVersion: v1
kind: Secret
metadata: {name: strings, namespace: corpus}
stringData: {user: admin, quantity: 1024Mi}
",
    changes: &[("/type", Immutable)],
    ..PLAIN
};

pub(crate) const NAMESPACE: Item = Item {
    text: "apiVersion: v1
kind: Namespace
metadata:
  name: corpus-labelled
  labels: {team: a, pod-security.kubernetes.io/enforce: privileged, empty: ''}
  annotations: {openshift.io/sa.scc.uid-range: 1000/10, other: 'yes'}
",
    changes: &[
        ("/metadata/labels/team", Updated),
        (
            "/metadata/annotations/openshift.io~1sa.scc.uid-range",
            Updated,
        ),
    ],
    only: Updated,
    set_back: &[
        "metadata.labels[\"kubernetes.io/metadata.name\"]",
        "spec.finalizers[",
    ],
    ..PLAIN
};

pub(crate) const LEASE: Item = Item {
    text: "apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: lease, namespace: corpus}
spec:
  holderIdentity: me
  leaseDurationSeconds: 15
  renewTime: '2024-01-01T00:00:00.000000Z'
",
    changes: &[
        ("/spec/leaseDurationSeconds", Updated),
        ("/spec/holderIdentity", Updated),
    ],
    only: Updated,
    ..PLAIN
};

/// `stringData` wins over `data`, whenever the object is written.
pub(crate) const TWOFOLD_SECRET: Item = Item {
    text: "apiVersion: v1
kind: Secret
metadata: {name: twofold, namespace: corpus}
stringData: {user: one}
data: {user: dHdv}
",
    changes: &[("/type", Immutable)],
    ..PLAIN
};

pub(crate) const NULL_MAP: Item = Item {
    text: "apiVersion: v1
kind: ConfigMap
metadata: {name: nulls, namespace: corpus}
data: null
binaryData: {}
",
    ..PLAIN
};
