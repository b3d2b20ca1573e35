//! Kinds of users' own.

use crate::corpus::harness::Outcome::{Immutable, Updated};
use crate::corpus::harness::{Item, PLAIN};

const GADGETS: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.corpus.example.com}
spec:
  group: corpus.example.com
  names: {kind: Gadget, plural: gadgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              port: {x-kubernetes-int-or-string: true}
              named: {x-kubernetes-int-or-string: true}
              replicas: {type: integer, default: 1, minimum: 0}
              on: {type: boolean, default: true}
              off: {type: boolean}
              zero: {type: integer}
              big: {type: integer, format: int64}
              ratio: {type: number}
              whole: {type: number}
              tiny: {type: number}
              text: {type: string}
              mode: {type: string, enum: [fast, slow], default: fast}
              nothing: {type: string, nullable: true}
              absent: {type: string, nullable: true}
              map: {type: object, additionalProperties: {type: string}}
              list: {type: array, items: {type: string}}
              nested:
                type: object
                default: {}
                properties:
                  level: {type: integer, default: 5}
                  name: {type: string}
              items:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [key]
                items:
                  type: object
                  required: [key]
                  properties:
                    key: {type: string}
                    value: {type: string}
                    weight: {type: integer, default: 0}
                    on: {type: boolean}
              matrix: {type: array, items: {type: array, items: {type: integer}}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
";

pub(crate) const GADGET: Item = Item {
    text: "apiVersion: corpus.example.com/v1
kind: Gadget
metadata: {name: gadget, namespace: corpus}
spec:
  port: 8080
  named: http
  off: false
  zero: 0
  big: 9007199254740993
  ratio: 0.1
  whole: 3
  tiny: 1.0e-7
  text: ''
  nothing: null
  map: {}
  list: []
  nested: {name: inner}
  items:
  - {key: a, value: '1', on: false}
  - {key: b, weight: 0}
  - {key: c, value: ''}
  matrix: [[1, 2], [], [2, 1]]
  free: {a: null, b: {}, c: [], d: 0, e: 1.5, f: {g: [{}, {h: null}, [1]]}}
",
    definition: GADGETS,
    changes: &[
        ("/spec/port", Updated),
        ("/spec/named", Updated),
        ("/spec/big", Updated),
        ("/spec/ratio", Updated),
        ("/spec/nested/level", Updated),
        ("/spec/mode", Immutable),
    ],
    only: Updated,
    ..PLAIN
};

const FREE: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: looses.corpus.example.com}
spec:
  group: corpus.example.com
  names: {kind: Loose, plural: looses}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

pub(crate) const LOOSE: Item = Item {
    text: "apiVersion: corpus.example.com/v1
kind: Loose
metadata: {name: loose}
top: null
number: 0
flag: false
text: ''
map: {}
list: []
things: [null, 0, '', false, {}, [], {name: a, x: null}, {name: b}]
same: [1, 1, '1', 1.0]
float: 1.0
exponent: 1e21
",
    definition: FREE,
    changes: &[
        ("/number", Updated),
        ("/flag", Updated),
        ("/exponent", Updated),
    ],
    only: Updated,
    ..PLAIN
};

pub(crate) const DEFINITION: Item = Item {
    text: "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.corpus.example.com}
spec:
  group: corpus.example.com
  names: {kind: Widget, plural: widgets, shortNames: [wd]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Age, type: date, jsonPath: .metadata.creationTimestamp}]
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              port: {x-kubernetes-int-or-string: true, default: 80}
              size: {type: integer, default: 0}
              on: {type: boolean, default: false}
              list: {type: array, default: [], items: {type: string}}
              mode: {type: string, enum: [a, b]}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
",
    changes: &[
        ("/spec/names/shortNames/0", Updated),
        ("/spec/scope", Immutable),
    ],
    only: Updated,
    ..PLAIN
};
