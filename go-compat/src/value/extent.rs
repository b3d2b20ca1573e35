//! How large a value is when it is walked as a tree. Values share their parts, so that a few steps
//! of a template can build one that is larger than any memory once it is printed, compared or
//! copied.

use super::{Key, Str, Value};

/// Nodes, depth and text of a value as a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// How many values there are in it, itself included.
    pub nodes: u64,
    /// How many containers lie within each other.
    pub depth: u32,
    /// How many bytes its texts have, keys included.
    pub bytes: u64,
}

impl Value {
    /// How large this value is; none when there are more nodes than `most`.
    pub fn extent(&self, most: u64) -> Option<Extent> {
        let mut extent = Extent::default();
        let mut pending = vec![(self.clone(), 1)];
        while let Some((value, depth)) = pending.pop() {
            extent.nodes += 1;
            extent.depth = extent.depth.max(depth);
            let children = match &value {
                Self::List(list) => list.len(),
                Self::Map(map) => map.len(),
                _ => 0,
            };
            // Children are charged before they are put in line, so that the line stays short.
            let waiting = u64::try_from(pending.len() + children).unwrap_or(u64::MAX);
            if extent.nodes.saturating_add(waiting) > most {
                return None;
            }
            match &value {
                Self::Str(text) => extent.bytes = extent.bytes.saturating_add(length(text)),
                Self::List(list) => {
                    extent.add_scalars(list.iter());
                    let containers = list.iter().filter(|item| is_container(item));
                    pending.extend(containers.map(|item| (item.clone(), depth + 1)));
                }
                Self::Map(map) => map.with(|entries| {
                    extent.add_scalars(entries.values());
                    for key in entries.keys() {
                        if let Key::Str(text) = key {
                            extent.bytes = extent.bytes.saturating_add(length(text));
                        }
                    }
                    let containers = entries.values().filter(|item| is_container(item));
                    pending.extend(containers.map(|item| (item.clone(), depth + 1)));
                }),
                _ => {}
            }
        }
        Some(extent)
    }
}

fn is_container(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Map(_))
}

fn length(text: &Str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

impl Extent {
    fn add_scalars<'a>(&mut self, items: impl Iterator<Item = &'a Value>) {
        for item in items {
            match item {
                Value::List(_) | Value::Map(_) => continue,
                Value::Str(text) => self.bytes = self.bytes.saturating_add(length(text)),
                _ => {}
            }
            self.nodes += 1;
        }
    }
}
