//! What connects.

use crate::corpus::harness::Outcome::{Immutable, Updated};
use crate::corpus::harness::{Item, PLAIN};

pub(crate) const CLUSTER_IP: Item = Item {
    text: "apiVersion: v1
kind: Service
metadata: {name: web, namespace: corpus}
spec:
  selector: {app: web}
  ports:
  - {name: http, port: 80, targetPort: http}
  - {name: https, port: 443, targetPort: 8443}
  - {name: dns, port: 53, protocol: UDP}
",
    changes: &[
        ("/spec/ports/0/port", Updated),
        ("/spec/ports/1/targetPort", Updated),
        ("/spec/clusterIP", Immutable),
    ],
    only: Updated,
    ..PLAIN
};

pub(crate) const NODE_PORT: Item = Item {
    text: "apiVersion: v1
kind: Service
metadata: {name: node, namespace: corpus}
spec:
  type: NodePort
  externalTrafficPolicy: Local
  ports: [{port: 80}]
",
    changes: &[("/spec/sessionAffinity", Immutable)],
    ..PLAIN
};

pub(crate) const LOAD_BALANCER: Item = Item {
    text: "apiVersion: v1
kind: Service
metadata: {name: balanced, namespace: corpus, annotations: {idle: '60'}}
spec:
  type: LoadBalancer
  loadBalancerSourceRanges: [10.0.0.0/8, 192.168.0.0/16]
  sessionAffinity: ClientIP
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 8080}]
",
    changes: &[
        ("/spec/ports/0/targetPort", Updated),
        ("/spec/allocateLoadBalancerNodePorts", Updated),
    ],
    only: Updated,
    ..PLAIN
};

pub(crate) const HEADLESS: Item = Item {
    text: "apiVersion: v1
kind: Service
metadata: {name: headless, namespace: corpus}
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: {app: db}
  ports: []
",
    changes: &[("/spec/selector/app", Updated)],
    only: Updated,
    ..PLAIN
};

pub(crate) const EXTERNAL_NAME: Item = Item {
    text: "apiVersion: v1
kind: Service
metadata: {name: outside, namespace: corpus}
spec: {type: ExternalName, externalName: example.com}
",
    changes: &[("/spec/externalName", Updated)],
    only: Updated,
    ..PLAIN
};

pub(crate) const INGRESS: Item = Item {
    text: "apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: corpus, annotations: {nginx.ingress.kubernetes.io/rewrite-target: /}}
spec:
  ingressClassName: nginx
  tls: [{hosts: [a.example.com, b.example.com], secretName: tls}]
  rules:
  - host: a.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
      - {path: /api, pathType: Exact, backend: {service: {name: api, port: {name: http}}}}
  - host: b.example.com
",
    changes: &[
        ("/spec/ingressClassName", Updated),
        // A path without `pathType` is added.
("/spec/rules/0/http/paths/0/backend/service/port/number", Immutable),
    ],
    only: Updated,
    ..PLAIN
};

pub(crate) const DENY_ALL: Item = Item {
    text: "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny-all, namespace: corpus}
spec:
  podSelector: {}
  policyTypes: [Ingress, Egress]
",
    changes: &[("/spec/policyTypes/0", Immutable)],
    ..PLAIN
};

pub(crate) const ALLOW: Item = Item {
    text: "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: allow, namespace: corpus}
spec:
  podSelector: {matchLabels: {app: web}}
  ingress:
  - {}
  - from:
    - namespaceSelector: {}
    - podSelector: {}
    - ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}
    ports: [{port: 80}, {port: http, protocol: TCP}, {port: 8000, endPort: 9000}]
  egress: []
  policyTypes: [Ingress, Egress]
",
    changes: &[
        ("/spec/podSelector/matchLabels/app", Updated),
        ("/spec/ingress/1/ports/0/port", Updated),
    ],
    only: Updated,
    ..PLAIN
};

pub(crate) const SLICE: Item = Item {
    text: "apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: outside, namespace: corpus}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1], conditions: {ready: false}}]
ports: [{name: '', port: 80}]
",
    changes: &[
        ("/addressType", Immutable),
        ("/endpoints/0/conditions/ready", Immutable),
    ],
    ..PLAIN
};
