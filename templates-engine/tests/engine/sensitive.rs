//! A secret is reported as sensitive by whatever route it reaches the output; and what does not
//! come from a secret is not.

use crate::world::resolve_with;
use reeve_templates_engine::resolver::{Config, EncryptionConfig, Input, Options, Resolved};

const SECRET: &str = r#"fromSecret "testns" "testsecret" "secretkey1""#;

fn resolved(input: &str) -> Resolved {
    resolve_with(Config::default(), Input::Yaml(input), Options::default())
        .unwrap_or_else(|error| panic!("{input}: {error}"))
}

/// The sensitive fields of a document in which `SECRET` stands for a read of a secret.
fn fields(input: &str) -> Vec<String> {
    let resolved = resolved(&input.replace("SECRET", SECRET));
    assert!(resolved.has_sensitive_data, "{input}");
    resolved.sensitive_fields
}

macro_rules! routes {
    ($($name:ident: $input:expr => $expected:expr;)*) => {
        $(#[test]
        fn $name() {
            let expected: &[&str] = &$expected;
            assert_eq!(fields($input), expected, "{}", $input);
        })*
    };
}

routes! {
    straight: "a: {{ SECRET }}\nb: plain" => ["/a"];
    part_of_a_text: "a: 'user:{{ SECRET }}@host'\nb: plain" => ["/a"];
    chain_of_functions: "a: {{ SECRET | base64dec | upper | quote }}\nb: {{ upper \"x\" }}" => ["/a"];
    argument: "a: {{ printf \"%s-%s\" \"x\" (SECRET) }}\nb: c" => ["/a"];
    computed_number: "a: {{ len (SECRET) }}" => ["/a"];
    comparison: "a: {{ eq (SECRET) \"x\" }}" => ["/a"];
    variable: "{{ $x := SECRET }}a: {{ $x }}\nb: c" => ["/a"];
    assigned_variable: "{{ $x := \"\" }}{{ $x = SECRET }}a: {{ $x }}" => ["/a"];
    variable_of_a_variable: "{{ $x := SECRET }}{{ $y := print $x }}a: {{ $y }}" => ["/a"];
    with_dot: "{{ with SECRET }}a: {{ . }}{{ end }}" => ["/a"];
    map_literal: "a: {{ (dict \"k\" (SECRET)).k }}" => ["/a"];
    map_in_a_variable: "{{ $d := dict \"k\" (SECRET) }}a: {{ $d.k }}" => ["/a"];
    set_into_a_map: "{{ $d := dict }}{{ $_ := set $d \"k\" (SECRET) }}a: {{ $d.k }}\nb: c" => ["/a"];
    set_into_a_map_held_elsewhere: "{{ $d := dict }}{{ $o := dict \"in\" $d }}{{ $_ := set $d \"k\" (SECRET) }}a: '{{ $o | toString }}'\nb: '{{ $o.in.k }}'" => ["/a", "/b"];
    merged_map: "{{ $d := dict }}{{ $_ := merge $d (dict \"k\" (SECRET)) }}a: {{ $d.k }}" => ["/a"];
    copied_map: "{{ $d := dict }}{{ $_ := set $d \"k\" (SECRET) }}{{ $e := deepCopy $d }}a: {{ $e.k }}" => ["/a"];
    list: "a: {{ index (list 1 (SECRET)) 1 }}" => ["/a"];
    range_over_a_list: "{{ range list (SECRET) }}a: {{ . }}{{ end }}" => ["/a"];
    range_over_a_map: "{{ range $k, $v := dict \"k\" (SECRET) }}a: {{ $v }}{{ end }}" => ["/a"];
    sub_template: "{{ define \"t\" }}{{ . }}{{ end }}a: {{ template \"t\" SECRET }}\nb: {{ template \"t\" \"x\" }}" => ["/a"];
    sub_template_that_reads: "{{ define \"t\" }}{{ SECRET }}{{ end }}a: {{ template \"t\" }}\nb: c" => ["/a"];
    block: "a: {{ block \"t\" SECRET }}{{ . }}{{ end }}" => ["/a"];
    and_or: "a: {{ or \"\" (SECRET) }}\nb: {{ and (SECRET) \"x\" }}" => ["/a", "/b"];
    ternary: "a: {{ ternary (SECRET) \"x\" true }}" => ["/a"];
    default_value: "a: {{ default (SECRET) \"\" }}" => ["/a"];
    condition: "a: '{{ if eq (SECRET) \"x\" }}yes{{ else }}no{{ end }}'\nb: c" => ["/a"];
    assigned_under_a_condition: "{{ $x := \"no\" }}{{ if SECRET }}{{ $x = \"yes\" }}{{ end }}a: {{ $x }}\nb: c" => ["/a"];
    copy_secret_data: "data: {{ copySecretData \"testns\" \"testsecret\" }}\nb: c" => ["/data/secretkey1", "/data/secretkey2"];
    copy_secret_data_as_text: "data: 'all {{ copySecretData \"testns\" \"testsecret\" }}'\nb: c" => ["/data"];
    lookup_of_a_secret: "a: {{ (lookup \"v1\" \"Secret\" \"testns\" \"testsecret\").data.secretkey1 }}\nb: c" => ["/a"];
    list_of_secrets: "{{ range (lookup \"v1\" \"Secret\" \"testns\" \"\").items }}{{ .metadata.name }}: x\n{{ end }}b: c" => ["/emptysecret", "/testsecret"];
    in_a_list_item: "a:\n- x\n- {{ SECRET }}\n" => ["/a/1"];
    as_a_key: "{{ SECRET }}: x\nb: c" => ["/c2VjcmV0a2V5MVZhbA=="];
    key_with_a_slash: "x/y~z: {{ SECRET }}" => ["/x~1y~0z"];
    not_in_the_output: "{{ $x := SECRET }}a: b" => [];
}

#[test]
fn value_from_elsewhere_is_not_sensitive() {
    for input in [
        "a: {{ fromConfigMap \"testns\" \"testconfigmap\" \"cmkey1\" }}",
        "a: {{ lookup \"v1\" \"Secret\" \"testns\" \"none\" | toString }}",
        "a: {{ len (lookup \"v1\" \"Secret\" \"nowhere\" \"\").items }}",
        "a: {{ hasNodesWithExactRoles \"infra\" }}",
    ] {
        let resolved = resolved(input);
        assert!(!resolved.has_sensitive_data, "{input}");
        assert_eq!(resolved.sensitive_fields, Vec::<String>::new(), "{input}");
    }
}

fn with_keys(input: &str, encrypts: bool) -> Resolved {
    let options = Options {
        encryption: Some(EncryptionConfig {
            key: &[b'A'; 32],
            initialization_vector: &[b'I'; 16],
            encrypts,
            decrypts: !encrypts,
            ..EncryptionConfig::default()
        }),
        ..Options::default()
    };
    resolve_with(Config::default(), Input::Yaml(input), options)
        .unwrap_or_else(|error| panic!("{input}: {error}"))
}

#[test]
fn decrypted_values_are_sensitive() {
    let token = "$ocm_encrypted:Eud/p3S7TvuP03S9fuNV+w==";
    for (input, fields) in [
        (format!("a: {token}\nb: c"), vec!["/a"]),
        (format!("a: x{token}-y\nb: c"), vec!["/a"]),
        (
            format!("a: '{{{{ upper \"{token}\" }}}}'\nb: c"),
            vec!["/a"],
        ),
        (format!("{{{{ $x := \"{token}\" }}}}a: b"), vec![]),
    ] {
        let resolved = with_keys(&input, false);
        assert!(resolved.has_sensitive_data);
        assert_eq!(resolved.sensitive_fields, fields, "{input}");
    }
}

#[test]
fn encrypted_value_is_not_sensitive() {
    for input in [
        "a: {{ fromSecret \"testns\" \"testsecret\" \"secretkey1\" }}",
        "a: {{ copySecretData \"testns\" \"testsecret\" }}",
        "a: {{ (lookup \"v1\" \"Secret\" \"testns\" \"testsecret\").data.secretkey1 | protect }}",
    ] {
        let resolved = with_keys(input, true);
        assert!(resolved.has_sensitive_data, "a secret was read: {input}");
        assert_eq!(resolved.sensitive_fields, Vec::<String>::new(), "{input}");
    }
    let lookup = with_keys(
        "a: {{ (lookup \"v1\" \"Secret\" \"testns\" \"testsecret\").data.secretkey1 }}",
        true,
    );
    assert_eq!(lookup.sensitive_fields, ["/a"], "lookup does not encrypt");
}

#[test]
fn failure_records_that_a_secret_was_read() {
    let failed = resolve_with(
        Config::default(),
        Input::Yaml(&format!("{{{{ $x := {SECRET} }}}}{{{{ fail \"after\" }}}}")),
        Options::default(),
    )
    .expect_err("it fails");
    assert!(failed.has_sensitive_data);
    assert_eq!(failed.reads.len(), 1);
}

/// Debug output reaches logs.
#[test]
fn debug_output_has_no_values() {
    let config = EncryptionConfig {
        key: b"sixteen byte key",
        ..EncryptionConfig::default()
    };
    assert!(
        !format!("{config:?}").contains("115"),
        "the key's first byte"
    );
    let resolved = resolved(&format!("a: {{{{ {SECRET} }}}}"));
    let shown = format!("{resolved:?}");
    assert!(shown.contains("sensitive_fields"), "{shown}");
    assert!(!shown.contains("99, 50, 86"), "c2V as bytes: {shown}");
    let object = reeve_templates_engine::lookup::Object::new(&serde_json::json!({
        "kind": "Secret", "metadata": {"name": "n", "namespace": "ns"}, "data": {"k": "hidden"},
    }));
    assert_eq!(format!("{object:?}"), "Object(Secret ns/n)");
}

#[test]
fn derived_fields_name_their_expressions_but_conditions_derive_nothing() {
    let secret = r#"(lookup "v1" "Secret" "testns" "testsecret").data.secretkey1"#;
    let derived = |input: &str| {
        let fields = with_keys(input, true).derived_fields.into_iter();
        fields
            .map(|field| (field.pointer, field.is_key, field.expression))
            .collect::<Vec<_>>()
    };
    let expression = format!("{secret} | b64dec | trunc 5");
    let found = derived(&format!("a: b\nc: x {{{{ {expression} }}}} y\n"));
    let [(pointer, false, shown)] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(pointer, "/c");
    assert!(shown.contains("trunc 5"), "{shown}");
    let found = derived(&format!("{{{{ {secret} }}}}: b\n"));
    assert!(found.iter().any(|(_, is_key, _)| *is_key), "{found:?}");
    for open in [
        format!("{{{{ if eq {secret} \"x\" }}}}a: b{{{{ else }}}}c: d{{{{ end }}}}"),
        format!(
            "{{{{ $x := \"b\" }}}}{{{{ if {secret} }}}}{{{{ $x = \"c\" }}}}{{{{ end }}}}a: {{{{ $x }}}}"
        ),
        format!("a: {{{{ eq {secret} \"x\" }}}}"),
        format!("a: {{{{ {secret} | protect }}}}"),
        "a: {{ fromSecret \"testns\" \"testsecret\" \"secretkey1\" | upper }}".to_owned(),
    ] {
        assert_eq!(derived(&open), [], "{open}");
    }
}

#[test]
fn text_after_break_on_secret_is_sensitive() {
    let secret = r#"(lookup "v1" "Secret" "testns" "testsecret").data.secretkey1"#;
    let input = format!(
        "{{{{ range $i := list 1 2 }}}}{{{{ if eq {secret} \"x\" }}}}{{{{ continue }}}}{{{{ end }}}}a{{{{ $i }}}}: b\n{{{{ end }}}}c: d\n"
    );
    let before = resolved(&input);
    assert_eq!(
        before.sensitive_fields,
        Vec::<String>::new(),
        "nothing was left out"
    );
    let input = input.replace("\"x\"", "\"c2VjcmV0a2V5MVZhbA==\"");
    let input = input.replace("{{ continue }}", "{{ if eq $i 1 }}{{ continue }}{{ end }}");
    assert_eq!(resolved(&input).sensitive_fields, ["/a2"]);
}

#[test]
fn failure_on_derived_value_is_marked_as_quoting_it() {
    let secret = r#"(lookup "v1" "Secret" "testns" "testsecret").data.secretkey1"#;
    let fails = |input: &str| {
        let failed = resolve_with(Config::default(), Input::Yaml(input), Options::default());
        failed
            .err()
            .unwrap_or_else(|| panic!("{input} does not fail"))
    };
    for input in [
        format!("a: {{{{ fail (printf \"%s\" ({secret} | trunc 5)) }}}}"),
        format!("a: {{{{ range {secret} }}}}x{{{{ end }}}}"),
        format!("{{{{ $x := {secret} }}}}a: {{{{ $x.b }}}}"),
        format!("{{{{ {secret} }}}}: 1\n{{{{ {secret} }}}}: 2\n"),
    ] {
        assert!(fails(&input).quotes_secrets, "{input}");
    }
    let open = format!("a: {{{{ {secret} }}}}\nb: {{{{ fail \"no\" }}}}");
    assert!(!fails(&open).quotes_secrets, "{open}");
}
