//! Bodies in Protobuf, as Go's typed clients write them.

/// A field with bytes in it.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length > 0x7f {
        out.push(u8::try_from(length & 0x7f).unwrap_or_default() | 0x80);
        length >>= 7;
    }
    out.push(u8::try_from(length).unwrap_or_default());
    out.extend_from_slice(bytes);
    out
}

fn number(number: u8, value: u8) -> Vec<u8> {
    vec![number << 3, value]
}

fn entry(number: u8, key: &str, value: &str) -> Vec<u8> {
    let inside = [field(1, key.as_bytes()), field(2, value.as_bytes())].concat();
    field(number, &inside)
}

fn body(version: &str, kind: &str, object: &[u8]) -> Vec<u8> {
    let about = [field(1, version.as_bytes()), field(2, kind.as_bytes())].concat();
    let envelope = [
        field(1, &about),
        field(2, object),
        field(3, b""),
        field(4, b""),
    ]
    .concat();
    [b"k8s\0".as_slice(), &envelope].concat()
}

/// Some of them.
pub(super) fn bodies() -> Vec<Vec<u8>> {
    let metadata = |name: &str| {
        let inside = [
            field(1, name.as_bytes()),
            field(3, b"c-fuzz"),
            entry(11, "app", "x"),
            entry(12, "note", "y"),
            field(14, b"example.com/held"),
        ];
        field(1, &inside.concat())
    };
    let container = [
        field(1, b"c"),
        field(2, b"i"),
        field(
            6,
            &[field(2, b"http"), number(3, 80), field(4, b"TCP")].concat(),
        ),
        field(7, &[field(1, b"A"), field(2, b"1")].concat()),
    ];
    let pod_spec = [field(2, &container.concat()), number(4, 30)].concat();
    let template = [metadata("t"), field(2, &pod_spec)].concat();
    let selector = entry(1, "app", "x");
    let deployment_spec = [number(1, 2), field(2, &selector), field(3, &template)].concat();
    let preconditions = field(2, &field(1, b"uid"));
    vec![
        body(
            "v1",
            "ConfigMap",
            &[metadata("a"), entry(2, "key", "value"), entry(3, "b", "\0")].concat(),
        ),
        body("v1", "Pod", &[metadata("p"), field(2, &pod_spec)].concat()),
        body(
            "apps/v1",
            "Deployment",
            &[metadata("d"), field(2, &deployment_spec)].concat(),
        ),
        body(
            "v1",
            "DeleteOptions",
            &[number(1, 5), preconditions, field(4, b"Foreground")].concat(),
        ),
        body("meta.k8s.io/v1", "DeleteOptions", &number(1, 0)),
    ]
}
