//! Renders objects as YAML the way `sigs.k8s.io/yaml` does, so that diffs read like `kubectl get -o yaml`.
//!
//! The layout rules are those of libyaml's block style as go-yaml 2 uses it: keys in natural order, lists not
//! indented under their key, texts folded after column 80, quotes where YAML 1.1 would read something else
//! than text.

mod emit;
mod natural;
mod scalar;

#[cfg(test)]
mod tests;

pub use emit::to_yaml;
