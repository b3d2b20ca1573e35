//! What runs.

use crate::corpus::harness::Outcome::{Immutable, Updated};
use crate::corpus::harness::{Item, PLAIN};

pub(crate) const DEPLOYMENT: Item = Item {
    text: "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: corpus
  labels: {app: web, tier: ''}
spec:
  replicas: 0
  minReadySeconds: 0
  selector: {matchLabels: {app: web}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 1}}
  template:
    metadata: {labels: {app: web}}
    spec:
      hostNetwork: false
      nodeSelector: {}
      tolerations: []
      terminationGracePeriodSeconds: 5
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 100
            podAffinityTerm:
              topologyKey: kubernetes.io/hostname
              labelSelector: {matchExpressions: [{key: app, operator: In, values: [web, site]}]}
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
      containers:
      - name: web
        image: nginx:1.27
        ports: [{name: http, containerPort: 80}, {name: metrics, containerPort: 9090, protocol: TCP}]
        env:
        - {name: EMPTY, value: ''}
        - {name: NUMBER, value: '0123'}
        - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
        resources:
          requests: {cpu: '0.5', memory: 1024Mi}
          limits: {cpu: 1000m, memory: 1Gi, ephemeral-storage: 1e3}
        livenessProbe: {httpGet: {path: /, port: http}, initialDelaySeconds: 0}
        readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 5}
        securityContext: {runAsNonRoot: false, capabilities: {drop: [ALL]}}
        volumeMounts: [{name: config, mountPath: /etc/web}, {name: cache, mountPath: /cache}]
        command: [sh, -c, 'exec \"$0\"']
      initContainers:
      - {name: first, image: busybox, args: []}
      volumes:
      - {name: config, configMap: {name: web, items: [{key: a, path: b}]}}
      - {name: cache, emptyDir: {}}
      - {name: scratch, emptyDir: {sizeLimit: 0.5Gi}}
      - name: all
        projected:
          sources:
          - serviceAccountToken: {path: token}
          - configMap: {name: web}
",
    changes: &[
        ("/spec/template/spec/containers/0/image", Updated),
        ("/spec/template/spec/containers/0/readinessProbe/periodSeconds", Updated),
        ("/spec/template/spec/containers/0/securityContext/runAsNonRoot", Updated),
        ("/spec/selector/matchLabels/app", Immutable),
    ],
    only: Updated,
    ..PLAIN
};

pub(crate) const STATEFUL_SET: Item = Item {
    text: "apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: corpus}
spec:
  replicas: 0
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers:
      - name: db
        image: postgres
        volumeMounts: [{name: data, mountPath: /data}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec:
      accessModes: [ReadWriteOnce]
      resources: {requests: {storage: 0.5Ti}}
",
    changes: &[
        ("/spec/template/spec/containers/0/image", Updated),
        ("/spec/serviceName", Immutable),
    ],
    only: Updated,
    ..PLAIN
};

pub(crate) const DAEMON_SET: Item = Item {
    text: "apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: corpus}
spec:
  selector: {matchExpressions: [{key: app, operator: In, values: [agent]}]}
  updateStrategy: {rollingUpdate: {maxUnavailable: 10%}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      serviceAccountName: default
      tolerations: [{operator: Exists}, {key: a, effect: NoSchedule}]
      containers: [{name: agent, image: agent, securityContext: {privileged: true}}]
      volumes: [{name: host, hostPath: {path: /}}]
",
    changes: &[
        ("/spec/template/spec/containers/0/image", Updated),
        (
            "/spec/template/spec/containers/0/securityContext/privileged",
            Updated,
        ),
    ],
    only: Updated,
    set_back: &["spec.template.spec.serviceAccount"],
    ..PLAIN
};

pub(crate) const CRON_JOB: Item = Item {
    text: "apiVersion: batch/v1
kind: CronJob
metadata: {name: night, namespace: corpus}
spec:
  schedule: '0 3 * * *'
  suspend: true
  successfulJobsHistoryLimit: 0
  jobTemplate:
    spec:
      backoffLimit: 0
      template:
        spec:
          restartPolicy: Never
          containers:
          - {name: job, image: job, args: ['--count', '0'], resources: {limits: {cpu: 0.1, memory: 128974848}}}
",
    changes: &[
        ("/spec/schedule", super::harness::Outcome::Immutable),
        ("/spec/suspend", Updated),
        ("/spec/successfulJobsHistoryLimit", Updated),
    ],
    only: Updated,
    ..PLAIN
};

pub(crate) const JOB: Item = Item {
    text: "apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: corpus}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: OnFailure
      containers: [{name: job, image: job}]
",
    changes: &[
        ("/spec/backoffLimit", Updated),
        ("/spec/template/spec/containers/0/image", Immutable),
    ],
    only: Immutable,
    ..PLAIN
};

pub(crate) const POD: Item = Item {
    text: "apiVersion: v1
kind: Pod
metadata: {name: single, namespace: corpus}
spec:
  nodeSelector: {nowhere: 'true'}
  containers:
  - {name: c, image: 'c:1', resources: {requests: {cpu: 100m}}, lifecycle: {preStop: {exec: {command: [stop]}}}}
",
    changes: &[
        ("/spec/containers/0/image", Updated),
        ("/spec/restartPolicy", Immutable),
    ],
    only: Immutable,
    set_back: &["spec.serviceAccount"],
    ..PLAIN
};

pub(crate) const REPLICA_SET: Item = Item {
    text: "apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: plain, namespace: corpus}
spec:
  replicas: 0
  selector: {matchLabels: {app: plain}}
  template:
    metadata: {labels: {app: plain}}
    spec:
      containers: [{name: c, image: c}]
",
    changes: &[("/spec/template/spec/containers/0/image", Updated)],
    only: Updated,
    ..PLAIN
};

pub(crate) const AUTOSCALER: Item = Item {
    text: "apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: corpus}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: absent}
  minReplicas: 1
  maxReplicas: 3
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}
  - {type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 0.5Gi}}}
  behavior: {scaleDown: {stabilizationWindowSeconds: 0}}
",
    changes: &[
        ("/spec/maxReplicas", Updated),
        // An item without a name is added (8.7), which the server does not take without a `type`.
        (
            "/spec/metrics/0/resource/target/averageUtilization",
            Immutable,
        ),
    ],
    only: Updated,
    ..PLAIN
};

pub(crate) const BUDGET: Item = Item {
    text: "apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: corpus}
spec:
  minAvailable: 50%
  selector: {matchLabels: {app: web}}
",
    changes: &[
        ("/spec/selector/matchLabels/app", Updated),
        ("/spec/minAvailable", Immutable),
    ],
    only: Updated,
    ..PLAIN
};

pub(crate) const NUMBERED_BUDGET: Item = Item {
    text: "apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: all, namespace: corpus}
spec: {maxUnavailable: 0, selector: {}}
",
    changes: &[("/spec/maxUnavailable", Updated)],
    only: Updated,
    ..PLAIN
};

/// What is written empty in an item without a name, the server drops.
pub(crate) const BLANKS: Item = Item {
    text: "apiVersion: apps/v1
kind: Deployment
metadata: {name: blanks, namespace: corpus}
spec:
  replicas: 0
  selector: {matchLabels: {app: blanks}}
  template:
    metadata: {labels: {app: blanks}}
    spec:
      tolerations: [{key: a, operator: Exists, value: ''}, {key: b, operator: Exists, effect: ''}]
      containers:
      - {name: c, image: c, ports: [{containerPort: 80, hostIP: ''}]}
",
    changes: &[("/spec/template/spec/containers/0/image", Updated)],
    only: Updated,
    ..PLAIN
};
