//! Where and how policies are generated.

use crate::paths::Base;

/// What holds for all documents of a run.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The directory of the paths.
    pub(crate) base: Base,
    /// What kustomize directories may use.
    pub(crate) switches: Switches,
    /// Whether more is done than upstream's generator does.
    pub(crate) mode: Mode,
}

/// What the environment allows for kustomize directories.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Switches {
    /// Helm charts may be used.
    pub(crate) helm: bool,
    /// Files outside the directory may be read.
    pub(crate) unrestricted: bool,
}

/// Whether the generator does what upstream's does, or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The same, byte for byte.
    #[default]
    Upstream,
    /// `--extended`: it takes keys that upstream's generator does not know, and writes some templates and placements differently.
    Extended,
}

impl Mode {
    pub(crate) fn is_extended(self) -> bool {
        self == Self::Extended
    }
}
