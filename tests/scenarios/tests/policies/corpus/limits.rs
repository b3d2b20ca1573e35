//! How much there may be, and where it is kept.

use crate::corpus::harness::Outcome::{Immutable, Refused, Updated};
use crate::corpus::harness::{Item, PLAIN};

pub(crate) const LIMIT_RANGE: Item = Item {
    text: "apiVersion: v1
kind: LimitRange
metadata: {name: limits, namespace: corpus-limited}
spec:
  limits:
  - type: Container
    default: {cpu: 0.5, memory: 1024Mi}
    defaultRequest: {cpu: 100m, memory: 0.25Gi}
    max: {cpu: 2, memory: 2048Mi}
  - {type: PersistentVolumeClaim, min: {storage: 1e3}, max: {storage: 1e12}}
",
    changes: &[(
        "/spec/limits/0/default/cpu",
        Refused("quantities must match the regular expression"),
    )],
    ..PLAIN
};

pub(crate) const QUOTA: Item = Item {
    text: "apiVersion: v1
kind: ResourceQuota
metadata: {name: quota, namespace: corpus-limited}
spec:
  hard:
    requests.cpu: 2000m
    limits.memory: 1024Mi
    pods: 1e3
    services: '10'
    requests.storage: 0.5Ti
    count/configmaps: 1k
    secrets: 100
",
    changes: &[],
    ..PLAIN
};

pub(crate) const CLAIM: Item = Item {
    text: "apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: corpus}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: ''
  resources: {requests: {storage: 1024Mi}}
",
    changes: &[
        ("/spec/accessModes/0", Immutable),
        ("/spec/volumeMode", Immutable),
    ],
    ..PLAIN
};

pub(crate) const VOLUME: Item = Item {
    text: "apiVersion: v1
kind: PersistentVolume
metadata: {name: corpus}
spec:
  capacity: {storage: 0.5Gi}
  accessModes: [ReadWriteOnce, ReadOnlyMany]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: nothing
  nfs: {server: 10.0.0.1, path: /data}
",
    changes: &[("/spec/nfs/path", Immutable)],
    ..PLAIN
};

pub(crate) const STORAGE_CLASS: Item = Item {
    text: "apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: corpus, annotations: {storageclass.kubernetes.io/is-default-class: 'false'}}
provisioner: corpus.example.com
parameters: {iops: '10', type: '', encrypted: 'true'}
mountOptions: [ro, soft]
allowVolumeExpansion: false
",
    changes: &[
        ("/allowVolumeExpansion", Updated),
        ("/parameters/iops", Immutable),
        ("/reclaimPolicy", Immutable),
    ],
    only: Updated,
    ..PLAIN
};

pub(crate) const PRIORITY_CLASS: Item = Item {
    text: "apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: corpus}
value: 0
globalDefault: false
description: ''
",
    changes: &[("/value", Immutable)],
    ..PLAIN
};

pub(crate) const HIGH_PRIORITY: Item = Item {
    text: "apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: corpus-high}
value: 1000000000
description: |
  Two lines
    of text. 
",
    changes: &[("/description", Updated), ("/value", Immutable)],
    only: Updated,
    ..PLAIN
};

pub(crate) const RUNTIME_CLASS: Item = Item {
    text: "apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: corpus}
handler: kata
overhead: {podFixed: {memory: 0.12Gi, cpu: 0.25}}
",
    changes: &[("/handler", Immutable)],
    ..PLAIN
};
