//! The mirrors of images.

use reeve_api::addon::ImageMirror;
use serde::Deserialize;

use crate::facts::{Inputs, REGISTRIES_ANNOTATION};
use crate::messages;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Registries {
    registries: Vec<ImageMirror>,
}

/// An image's name after the mirrors of its cluster or, if there are any, of its add-on's configuration.
pub fn mirrored(inputs: &Inputs, image: &str) -> (String, Vec<String>) {
    let mut ignored_settings = Vec::new();
    let configured = inputs.config.spec().map(|spec| spec.registries.clone());
    let mut mirrors = configured.unwrap_or_default();
    let text = inputs.cluster.annotation(REGISTRIES_ANNOTATION);
    if let (true, Some(text)) = (mirrors.is_empty(), text) {
        match serde_json::from_str::<Registries>(text) {
            Ok(read) => mirrors = read.registries,
            Err(error) => ignored_settings.push(messages::invalid_registries(&error)),
        }
    }
    (apply(&mirrors, image), ignored_settings)
}

/// Replaces the longest source that is a prefix of the name; an empty source matches everything before the last
/// slash.
fn apply(mirrors: &[ImageMirror], image: &str) -> String {
    let fits = |mirror: &&ImageMirror| {
        let rest = image.strip_prefix(mirror.source.trim_end_matches('/'));
        mirror.source.is_empty()
            || rest.is_some_and(|rest| rest.starts_with('/') || rest.starts_with(':'))
    };
    let fitting = mirrors.iter().filter(fits);
    let Some(mirror) = fitting.max_by_key(|mirror| mirror.source.len()) else {
        return image.to_owned();
    };
    let to = mirror.mirror.trim_end_matches('/');
    if mirror.source.is_empty() {
        let name = image.rsplit('/').next().unwrap_or(image);
        return format!("{to}/{name}");
    }
    let from = mirror.source.trim_end_matches('/');
    let rest = image.strip_prefix(from).unwrap_or_default();
    format!("{to}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addon_61_mirror_of_longest_source_is_used() {
        let mirror = |source: &str, mirror: &str| ImageMirror {
            source: source.to_owned(),
            mirror: mirror.to_owned(),
        };
        let mirrors = [
            mirror("quay.io", "one.example/a"),
            mirror("quay.io/open-cluster-management/", "two.example/b/"),
            mirror("quay.io/open", "three.example"),
        ];
        let image = "quay.io/open-cluster-management/config-policy-controller:v1";
        assert_eq!(
            apply(&mirrors, image),
            "two.example/b/config-policy-controller:v1"
        );
        assert_eq!(
            apply(&mirrors[..1], image),
            "one.example/a/open-cluster-management/config-policy-controller:v1"
        );
        assert_eq!(apply(&mirrors[2..], image), image);
        let all = [mirror("", "four.example/x")];
        assert_eq!(
            apply(&all, image),
            "four.example/x/config-policy-controller:v1"
        );
    }
}
