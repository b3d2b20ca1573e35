//! `images` of a kustomization: what kustomize's `ImageTagTransformer` does.

use std::rc::Rc;

use reeve_go_compat::regexp::Regexp;
use reeve_go_compat::value::{Map, Value};

use crate::error::Error;
use crate::messages;
use crate::values::{map_field, maps_field, nonempty_field, set, text_field, text_of};

/// The fields whose containers are changed, wherever they are in an object.
const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

/// Where a pod is in an object. kustomize changes the images there once more, by their paths: a suffix is appended twice.
const PODS: [&[&str]; 2] = [&["spec"], &["spec", "template", "spec"]];

/// Where volumes that are images are changed.
const VOLUMES_OF: [&[&str]; 3] = [
    &["spec"],
    &["spec", "template", "spec"],
    &["spec", "jobTemplate", "spec", "template", "spec"],
];

/// An entry of `images`.
pub(super) struct Image {
    /// Which images it changes.
    pattern: Rc<Regexp>,
    new_name: Option<String>,
    new_tag: Option<String>,
    digest: Option<String>,
    tag_suffix: Option<String>,
}

impl Image {
    /// The entries of a kustomization.
    pub(super) fn all(kustomization: &Map) -> Result<Vec<Self>, Error> {
        let entries = maps_field(kustomization, "images");
        entries.iter().map(Self::read).collect()
    }

    fn read(entry: &Map) -> Result<Self, Error> {
        let text = |key| nonempty_field(entry, key);
        let name = text("name").unwrap_or_default();
        // A name is a regular expression to kustomize.
        let pattern = format!("^{name}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?$");
        let invalid = |error| Error::new(messages::invalid_image_name(&name, &error));
        Ok(Self {
            pattern: Regexp::compile(pattern.as_bytes()).map_err(invalid)?,
            new_name: text("newName"),
            new_tag: text("newTag"),
            digest: text("digest"),
            tag_suffix: text("tagSuffix"),
        })
    }

    /// Changes the images of an object.
    pub(super) fn set(&self, object: &Map) {
        if text_field(object, "kind").as_deref() == Some("CustomResourceDefinition") {
            return;
        }
        self.set_below(&Value::Map(object.clone()));
        for path in PODS {
            let at = |object, key: &&str| map_field(&object, key);
            let Some(pod) = path.iter().try_fold(object.clone(), at) else {
                continue;
            };
            for key in CONTAINERS {
                for container in maps_field(&pod, key) {
                    self.set_field(&container, "image");
                }
            }
        }
        for path in VOLUMES_OF {
            let at = |object, key: &&str| map_field(&object, key);
            let pod = path.iter().try_fold(object.clone(), at);
            for volume in pod.iter().flat_map(|pod| maps_field(pod, "volumes")) {
                if let Some(image) = map_field(&volume, "image") {
                    self.set_field(&image, "reference");
                }
            }
        }
    }

    /// Changes the images of all containers below a value.
    fn set_below(&self, value: &Value) {
        match value {
            Value::Map(map) => {
                for (key, child) in map.entries() {
                    self.set_below(&child);
                    let key = text_of(&key.to_value());
                    if CONTAINERS.contains(&key.as_str()) {
                        for container in maps_field(map, &key) {
                            self.set_field(&container, "image");
                        }
                    }
                }
            }
            Value::List(list) => list.iter().for_each(|item| self.set_below(item)),
            _ => {}
        }
    }

    fn set_field(&self, object: &Map, key: &str) {
        let Some(current) = text_field(object, key) else {
            return;
        };
        if self.pattern.is_match(current.as_bytes()) {
            set(object, key, self.of(&current));
        }
    }

    /// A new tag or a new digest replaces both the tag and the digest.
    fn of(&self, current: &str) -> String {
        let (name, tag, digest) = split(current);
        let name = self.new_name.as_deref().unwrap_or(name);
        let (tag, digest) = match (&self.new_tag, &self.digest, &self.tag_suffix) {
            (None, None, None) => (tag.to_owned(), digest),
            (None, None, Some(suffix)) => (format!("{tag}{suffix}"), ""),
            (new_tag, new_digest, _) => (
                new_tag.clone().unwrap_or_default(),
                new_digest.as_deref().unwrap_or_default(),
            ),
        };
        let mut image = name.to_owned();
        for (sign, part) in [(':', tag.as_str()), ('@', digest)] {
            if !part.is_empty() {
                image.push(sign);
                image.push_str(part);
            }
        }
        image
    }
}

/// The name of an image, its tag and its digest. A colon before the first slash is that of a port.
fn split(image: &str) -> (&str, &str, &str) {
    let host = image.find('/').unwrap_or_default();
    let path = image.get(host..).unwrap_or_default();
    let (path, digest) = path.split_once('@').unwrap_or((path, ""));
    let (path, tag) = path.split_once(':').unwrap_or((path, ""));
    (image.get(..host + path.len()).unwrap_or(image), tag, digest)
}
