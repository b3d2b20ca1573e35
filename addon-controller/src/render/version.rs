//! Versions of Kubernetes.

/// The first version with startup probes.
pub const STARTUP_PROBES: (u64, u64, u64) = (1, 20, 0);
/// The first version whose admission requires a seccomp profile.
pub const SECCOMP: (u64, u64, u64) = (1, 25, 0);

/// Major, minor and patch of a version such as `v1.28.5-eks-abc`; the rest is ignored. A cluster without a version,
/// or with an invalid one, counts as recent.
pub fn parse(text: &str) -> (u64, u64, u64) {
    const RECENT: (u64, u64, u64) = (u64::MAX, 0, 0);
    let text = text.trim().trim_start_matches('v');
    let numbers = text.split(['-', '+']).next().unwrap_or_default();
    let mut parts = numbers.split('.').map(str::parse);
    let Some(Ok(major)) = parts.next() else {
        return RECENT;
    };
    let Some(Ok(minor)) = parts.next() else {
        return RECENT;
    };
    let patch = parts.next().and_then(Result::ok).unwrap_or(0);
    (major, minor, patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addon_65_vendor_suffix_is_ignored() {
        for text in ["v1.28.5-eks-abc", "1.28.5+k3s1", "v1.28.5"] {
            assert_eq!(parse(text), (1, 28, 5), "{text}");
        }
        assert_eq!(parse("v1.19"), (1, 19, 0));
        assert!(parse("v1.19.16-gke.1") < STARTUP_PROBES);
    }

    #[test]
    fn addon_65_cluster_without_version_is_recent() {
        for text in ["", "latest", "v2"] {
            assert!(parse(text) > SECCOMP, "{text}");
        }
    }
}
