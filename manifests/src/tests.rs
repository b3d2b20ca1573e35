//! Tests of reading.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;

fn texts(found: &Found) -> (Vec<String>, Vec<String>, Vec<String>) {
    (
        found.objects.iter().map(Object::describe).collect(),
        found
            .skipped
            .iter()
            .map(|one| {
                let name = one.path.file_name().unwrap_or_default().to_string_lossy();
                format!("{name} ({})", one.reason)
            })
            .collect(),
        found.errors.iter().map(ToString::to_string).collect(),
    )
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn read_one(path: &Path) -> (Vec<String>, Vec<String>, Vec<String>) {
    texts(&read(&[Input::Path(path.to_owned())]))
}

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

#[test]
fn folders_are_read_recursively_in_order_and_the_rest_is_named() {
    let folder = folder(&[
        ("b.yaml", MAP),
        (
            "a/deep/c.yml",
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n",
        ),
        (
            "a/d.json",
            r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"x"}}"#,
        ),
        ("x.txt", "text"),
        ("kustomization.yaml", "resources: []"),
        ("empty.yaml", "# nothing\n---\n"),
        (".git/config", "x"),
    ]);
    let (objects, skipped, errors) = read_one(folder.path());
    assert_eq!(objects, ["Secret x/s", "Namespace ns", "ConfigMap a"]);
    assert_eq!(
        skipped,
        [
            ".git (hidden)",
            "kustomization.yaml (use -k)",
            "x.txt (not YAML or JSON)",
            "empty.yaml (empty)"
        ]
    );
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn link_back_to_a_folder_ends_the_walk_there() {
    let folder = folder(&[("a/b.yaml", MAP)]);
    std::os::unix::fs::symlink(folder.path(), folder.path().join("a/up")).unwrap();
    let (objects, skipped, errors) = read_one(folder.path());
    assert_eq!(objects, ["ConfigMap a"]);
    assert_eq!(skipped, ["up (a link to a folder that is read already)"]);
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn path_without_objects_is_an_error() {
    let folder = folder(&[("x.txt", "text")]);
    let (_, _, errors) = read_one(folder.path());
    assert!(
        errors[0].contains("no objects: skipped")
            && errors[0].ends_with("x.txt (not YAML or JSON)"),
        "{errors:?}"
    );
    let missing = folder.path().join("missing.yaml");
    let (_, _, errors) = read_one(&missing);
    let want = format!(
        "cannot read {}: No such file or directory",
        missing.display()
    );
    assert_eq!(errors, [want]);
}

#[test]
fn lists_become_their_items() {
    let list = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: a}}\n- {apiVersion: v1, kind: Namespace}\n";
    let found = read_stdin_text(list);
    let (objects, _, errors) = texts(&found);
    assert_eq!(objects, ["Namespace a"]);
    assert_eq!(found.objects[0].position.item, Some(0));
    assert_eq!(
        errors,
        ["standard input: items[1]: Namespace: resource name may not be empty (metadata.name)"]
    );
}

#[test]
fn errors_name_document_line_and_field() {
    let text = format!(
        "{MAP}---\nkind: Policy\nmetadata: {{name: x}}\n---\napiVersion: v1\nmetadata: {{name: x}}\n---\n[1]\n---\na: b\n c: d\n---\napiVersion: 1\nkind: Policy\nmetadata: {{name: x}}\n"
    );
    let (objects, _, errors) = texts(&read_stdin_text(&text));
    assert_eq!(objects, ["ConfigMap a"]);
    insta::assert_snapshot!(errors.join("\n"), @r"
    standard input: document 2 (line 5): apiVersion not set
    standard input: document 3 (line 8): Object 'Kind' is missing
    standard input: document 4 (line 11): expected an object, found a list
    standard input: line 14, column 3: mapping values are not allowed in this context
    standard input: document 6 (line 16): apiVersion: expected a string, found a number
    ");
}

#[test]
fn duplicate_keys_and_alias_bombs_are_errors_with_a_line() {
    let (_, _, errors) = texts(&read_stdin_text("a: 1\nb: 2\na: 3\n"));
    assert!(
        errors[0].starts_with("standard input: line 3"),
        "{errors:?}"
    );
    let first = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]".to_owned();
    let next = (1..12).map(|level| {
        let before = format!("*a{}", level - 1);
        let items = vec![before; 10].join(", ");
        format!("a{level}: &a{level} [{items}]")
    });
    let bomb: Vec<String> = std::iter::once(first).chain(next).collect();
    let (_, _, errors) = texts(&read_stdin_text(&bomb.join("\n")));
    assert_eq!(errors.len(), 1, "{errors:?}");
}

#[test]
fn scalars_are_read_as_kubectl_reads_them() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {mode: 0644, on: yes, big: 1e3, s: '1e3'}\n";
    let found = read_stdin_text(text);
    let data = found.objects[0].value["data"].to_string();
    assert_eq!(data, r#"{"big":1000,"mode":420,"on":true,"s":"1e3"}"#);
}

#[test]
fn marker_inside_text_of_a_field_splits_nothing() {
    let text =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: |\n    ---\n    y\n";
    let (objects, _, errors) = texts(&read_stdin_text(text));
    assert_eq!(objects, ["ConfigMap a"], "{errors:?}");
}

#[test]
fn kustomization_without_a_program_or_file_is_an_error_that_names_it() {
    let found = read(&[Input::Kustomization(PathBuf::from("there-is-none"))]);
    let (_, _, errors) = texts(&found);
    assert!(errors[0].starts_with("-k there-is-none: "), "{errors:?}");
}

proptest! {
    /// Every document of a text has the line where it begins, and nothing is lost or read twice.
    #[test]
    fn documents_are_the_parts_between_markers(parts in prop::collection::vec("(a: [a-z]{1,5}\n){1,3}", 1..6)) {
        let text = parts.join("---\n");
        let found = documents(&text);
        prop_assert_eq!(found.len(), parts.len());
        for (document, part) in found.iter().zip(&parts) {
            prop_assert_eq!(document.text, part.as_str());
            let line = text.lines().nth(document.line - 1);
            prop_assert_eq!(line, part.lines().next());
        }
    }

    /// No input ends the process.
    #[test]
    fn any_text_is_objects_or_errors(text in "[a-z:{}\\[\\]\"'&*|>#! \n-]{0,200}") {
        let found = read_stdin_text(&text);
        prop_assert!(!found.errors.is_empty() || !found.objects.is_empty());
    }
}

#[test]
fn aliases_that_multiply_are_an_error_without_internals() {
    let mut text = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (letter, before) in "bcdefghijkl".chars().zip("abcdefghijk".chars()) {
        let all = vec![format!("*{before}"); 9].join(", ");
        text.extend([format!("{letter}: &{letter} [{all}]\n")]);
    }
    let found = read_text(Path::new("bomb.yaml"), &text);
    let errors: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].ends_with(": the aliases expand to too much"),
        "{errors:?}"
    );
}
