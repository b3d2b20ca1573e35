//! What Go and its Kubernetes libraries do, to the letter: values, formats and parsers whose output
//! and error texts users see in statuses, and that other tools compare with.
//!
//! | Go | here |
//! |---|---|
//! | values and types as `reflect` shows them | [`value`] |
//! | `fmt` | [`printing`] |
//! | `strconv`, `unicode` | [`strconv`], [`runes`] |
//! | `path` | [`paths`] |
//! | `time` | [`time`] |
//! | `regexp` | [`regexp`] |
//! | `encoding/base64`, `encoding/json` | [`base64`], [`json`] |
//! | `gopkg.in/yaml.v3`, `sigs.k8s.io/yaml` | [`yaml`] |
//! | `k8s.io/apimachinery/pkg/labels` | [`labels`] |
//! | `k8s.io/apimachinery/pkg/api/resource` | [`quantity`] |
//! | `github.com/Masterminds/semver` | [`semver`] |

pub mod base64;
pub mod json;
pub mod labels;
pub mod paths;
pub mod printing;
pub mod quantity;
pub mod regexp;
pub mod runes;
pub mod semver;
pub mod strconv;
pub mod strfmt;
pub mod time;
pub mod value;
pub mod yaml;
