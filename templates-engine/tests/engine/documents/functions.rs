//! The functions of the engine with its default configuration.

use super::check;
use crate::world::{resolve_json, resolve_yaml};

#[test]
fn default_configuration() {
    check(
        "defaults",
        resolve_json,
        &[
            (
                r#"{"data":"{{ fromSecret \"testns\" \"testsecret\" \"secretkey1\" }}"}"#,
                Ok(r#"{"data":"c2VjcmV0a2V5MVZhbA=="}"#),
            ),
            (
                r#"{"a":"{{ fromSecret \"testns\" \"testsecret\" \"nokey\" }}"}"#,
                Ok(r#"{"a":""}"#),
            ),
            (
                r#"{"a":"{{ fromSecret \"testns\" \"nosecret\" \"k\" }}"}"#,
                Err(
                    r#"error calling fromSecret: failed to get the secret nosecret from testns: secrets "nosecret" not found"#,
                ),
            ),
            (
                r#"{"a":"{{ fromSecret \"\" \"a\" \"k\" }}"}"#,
                Err(
                    "error calling fromSecret: the input is invalid: namespace, name, and key must be specified",
                ),
            ),
            (
                r#"{"a":"{{ fromSecret \"a\" \"\" \"k\" }}"}"#,
                Err("namespace, name, and key must be specified"),
            ),
            (
                r#"{"a":"{{ fromSecret \"a\" \"a\" \"\" }}"}"#,
                Err("namespace, name, and key must be specified"),
            ),
            (
                r#"{"a":"{{ fromConfigMap \"testns\" \"testconfigmap\" \"cmkey1\" }}"}"#,
                Ok(r#"{"a":"cmkey1Val"}"#),
            ),
            (
                r#"{"a":"{{ fromConfigMap \"testns\" \"testconfigmap\" \"no\" }}"}"#,
                Ok(r#"{"a":""}"#),
            ),
            (
                r#"{"a":"{{ fromConfigMap \"testns\" \"nocm\" \"k\" }}"}"#,
                Err(
                    r#"failed getting the ConfigMap nocm from testns: configmaps "nocm" not found"#,
                ),
            ),
            (
                r#"{"a":"{{ fromConfigMap \"testns\" \"testconfigmap\" \"ingressSources\" | toLiteral }}"}"#,
                Ok(r#"{"a":["10.10.10.10","1.1.1.1"]}"#),
            ),
            (
                r#"{"a":"{{ \"test\" | b64enc }}{{ \"test\" | base64enc }}{{ \"dGVzdA==\" | b64dec }}{{ \"dGVzdA==\" | base64dec }}"}"#,
                Ok(r#"{"a":"dGVzdA==dGVzdA==testtest"}"#),
            ),
            (
                r#"{"a":"{{ \"*\" | base64dec }}"}"#,
                Ok(r#"{"a":"illegal base64 data at input byte 0"}"#),
            ),
            (
                r#"{"a":"{{ fromClusterClaim \"env\" }}{{ lookupClusterClaim \"env\" }}{{ lookupClusterClaim \"none\" }}"}"#,
                Ok(r#"{"a":"devdev"}"#),
            ),
            (
                r#"{"a":"{{ fromClusterClaim \"\" }}"}"#,
                Err("a claim name must be provided"),
            ),
            (
                r#"{"a":"{{ fromClusterClaim \"none\" }}"}"#,
                Err(
                    r#"error calling fromClusterClaim: clusterclaims.cluster.open-cluster-management.io "none" not found"#,
                ),
            ),
            (
                r#"{"a":"{{ fromClusterClaim \"nospec\" }}"}"#,
                Err("unexpected ClusterClaim format: nospec"),
            ),
            (
                r#"{"a":"{{ fromClusterClaim \"novalue\" }}"}"#,
                Ok(r#"{"a":""}"#),
            ),
            (
                r#"{"data":"{{ copyConfigMapData \"testns\" \"testcm-enva\" }}"}"#,
                Ok(r#"{"data":{"k":"\u003c\u0026\u003e"}}"#),
            ),
            (
                r#"{"data":"{{ copySecretData \"testns\" \"testsecret\" }}"}"#,
                Ok(
                    r#"{"data":{"secretkey1":"c2VjcmV0a2V5MVZhbA==","secretkey2":"c2VjcmV0a2V5MlZhbA=="}}"#,
                ),
            ),
            (
                r#"{"data":"{{ copySecretData \"testns\" \"emptysecret\" }}"}"#,
                Ok(r#"{"data":null}"#),
            ),
            (
                r#"{"data":"{{ copySecretData \"testns\" \"\" }}"}"#,
                Err("the input is invalid: namespace and name must be specified"),
            ),
            (
                r#"{"a":"{{ \"a\\nb\" | toLiteral }}"}"#,
                Err("new lines are not allowed in the string passed to the toLiteral function"),
            ),
            (
                r#"{"a":"{{ env \"HOME\" }}"}"#,
                Err(
                    r#"at <env "HOME">: error calling env: use of denylisted template function: function 'env' is considered a security risk"#,
                ),
            ),
            (
                r#"{"a":"{{ protect \"x\" }}"}"#,
                Err("the protect template function is not enabled in this mode"),
            ),
            (
                r#"{"a":"{{ autoindent \"x\" }}"}"#,
                Err("an unexpected error occurred where autoindent could not be processed"),
            ),
            (
                r#"{"a":"{{ indent -4 \"x\" }}"}"#,
                Err("strings: negative Repeat count"),
            ),
            (
                r#"{"a":"{{ fromYaml \"this: {is: inception-y}\" }}"}"#,
                Ok(r#"{"a":"map[this:map[is:inception-y]]"}"#),
            ),
            (
                r#"{"a":"{{ (fromYaml \"b: 2\").b | toInt }}"}"#,
                Ok(r#"{"a":2}"#),
            ),
            (
                r#"{"a":"{{ \"1.5\" | toInt }}","b":"{{ \"010\" | toInt }}","c":"{{ \"x\" | toInt }}","d":"{{ \"true\" | toBool }}","e":"{{ \"yes\" | toBool }}"}"#,
                Ok(r#"{"a":1,"b":8,"c":0,"d":true,"e":false}"#),
            ),
        ],
    );
    check(
        "indentation",
        resolve_yaml,
        &[
            (
                "a: |\n  {{ \"x\\ny\" | indent 2 }}\n",
                Ok(r#"{"a":"x\ny\n"}"#),
            ),
            (
                "a: |\n    {{ \"x\\ny\" | autoindent }}\n",
                Ok(r#"{"a":"x\ny\n"}"#),
            ),
            (
                "a: |-\n  {{ \"x\\ny\" | autoindent }}\n",
                Ok(r#"{"a":"x\ny"}"#),
            ),
            (
                "a: '{{ \"hello\\nworld\\n\" | autoindent }}'\n",
                Ok(r#"{"a":"hello world"}"#),
            ),
            (
                "a:\n  {{ list 0 1 2 | toYaml | autoindent }}\n",
                Ok(r#"{"a":[0,1,2]}"#),
            ),
            (
                "a: '{{ list 0 1 2 | toYAML | indent 2 }}'\n",
                Ok(r#"{"a":"- 0 - 1 - 2"}"#),
            ),
        ],
    );
}
