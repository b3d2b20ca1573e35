//! Every text about inputs that a user sees.

use std::path::Path;

/// A file in a folder that has another extension than `yaml`, `yml` and `json`.
pub(crate) const NOT_A_MANIFEST: &str = "not YAML or JSON";
/// A kustomization in a folder that is read file by file.
pub(crate) const KUSTOMIZATION: &str = "use -k";
/// A hidden file or folder.
pub(crate) const HIDDEN: &str = "hidden";
/// A file whose documents are all empty.
pub(crate) const EMPTY: &str = "empty";
/// A folder that a symbolic link leads back to.
pub(crate) const LOOP: &str = "a link to a folder that is read already";
/// Neither a file nor a folder: reading it might never end.
pub(crate) const SPECIAL: &str = "neither a file nor a folder";

/// Aliases of a document refer to each other so often that nobody can have meant it.
pub(crate) const TOO_MUCH: &str = "the aliases expand to too much";

/// A path as users know it.
pub(crate) fn path(path: &Path) -> String {
    if path == Path::new(crate::STDIN) {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

/// A field that does not exist, and one that is much like it.
pub(crate) fn unknown_field(field: &str, nearest: &str) -> String {
    format!("unknown field `{field}`, did you mean `{nearest}`?")
}
