//! The settings of the process: its flags and environment variables, checked.

use std::collections::BTreeSet;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client};
use reeve_runtime::metrics::Metrics;

use crate::metrics::PropagatorMetrics;
use crate::{Args, Error, messages};

const PLACEMENT_RULES: &str = "placementrules.apps.open-cluster-management.io";

/// The namespaces whose policies are propagated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Namespaces {
    /// Every namespace.
    All,
    /// These namespaces, at least one.
    Some(BTreeSet<String>),
}

impl Namespaces {
    /// Reads `WATCH_NAMESPACE`: empty for all, else names with commas between them.
    pub fn parse(text: &str) -> Self {
        let names = text.split(',').map(str::trim);
        let names: BTreeSet<_> = names
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        if names.is_empty() {
            Self::All
        } else {
            Self::Some(names)
        }
    }

    /// Whether a namespace is one of them.
    pub fn contains(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Some(names) => names.contains(namespace),
        }
    }
}

/// Whether `PlacementRule`s are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementRules {
    /// They are used if their kind is installed when the process starts.
    Probe,
    /// `PlacementRule`s are watched, whether or not their kind is installed.
    On,
    /// `PlacementRule`s are not watched.
    Off,
}

/// Whether the compliance of each policy is a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComplianceReporting {
    /// Each policy has its series.
    On,
    /// No policy has a series: there may be many thousands of them.
    Off,
}

/// The checked flags and environment variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where root policies are.
    pub namespaces: Namespaces,
    /// Whether `PlacementRule`s are used.
    pub placement_rules: PlacementRules,
    /// Whether compliance is a metric.
    pub compliance_reporting: ComplianceReporting,
}

impl Settings {
    /// Checks the flags and reads the environment.
    pub fn new(args: &Args) -> Result<Self, Error> {
        parse(args, |name| {
            let value = std::env::var_os(name)?;
            Some(value.to_string_lossy().into_owned())
        })
    }
}

fn parse(args: &Args, variable: impl Fn(&str) -> Option<String>) -> Result<Settings, Error> {
    if args.encryption_key_rotation == 0 {
        return Err(Error::Flag(messages::KEY_ROTATION_ZERO));
    }
    if args.key_rotation_max_concurrency == 0 {
        return Err(Error::Flag(messages::KEY_ROTATION_WORKERS_ZERO));
    }
    if args.shards > 1 && !args.leader_elect {
        return Err(Error::Flag(messages::SHARDS_WITHOUT_ELECTION));
    }
    let flag = args.watch_namespace.clone();
    let namespaces = flag.or_else(|| variable("WATCH_NAMESPACE"));
    let namespaces = namespaces.ok_or(Error::WatchNamespace)?;
    let disabled = variable("DISABLE_REPORT_METRICS");
    let disabled = disabled.is_some_and(|value| value.eq_ignore_ascii_case("true"));
    Ok(Settings {
        namespaces: Namespaces::parse(&namespaces),
        placement_rules: match args.disable_placementrule {
            None => PlacementRules::Probe,
            Some(true) => PlacementRules::Off,
            Some(false) => PlacementRules::On,
        },
        compliance_reporting: if disabled {
            ComplianceReporting::Off
        } else {
            ComplianceReporting::On
        },
    })
}

/// Whether to use `PlacementRule`s. With [`PlacementRules::Probe`] this reads the hub.
pub async fn placement_rules(client: &Client, setting: PlacementRules) -> Result<bool, Error> {
    match setting {
        PlacementRules::On => return Ok(true),
        PlacementRules::Off => return Ok(false),
        PlacementRules::Probe => {}
    }
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let found = definitions.get_metadata_opt(PLACEMENT_RULES).await;
    let found = found.map_err(|source| Error::PlacementRules(Box::new(source)))?;
    if found.is_none() {
        tracing::info!("{}", messages::NO_PLACEMENT_RULES);
    }
    Ok(found.is_some())
}

/// The series of this process.
pub fn metrics(registry: &Metrics, settings: &Settings) -> PropagatorMetrics {
    match settings.compliance_reporting {
        ComplianceReporting::On => PropagatorMetrics::new(registry),
        ComplianceReporting::Off => PropagatorMetrics::without_compliance(registry),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn decided(flags: &[&str], variables: &[(&str, &str)]) -> Result<Settings, String> {
        let args = Args::try_parse_from([&["p"], flags].concat()).unwrap();
        let variable = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        parse(&args, variable).map_err(|error| error.to_string())
    }

    #[test]
    fn zero_flags_and_a_missing_watch_namespace_are_errors() {
        let everywhere = [("WATCH_NAMESPACE", "")];
        let cases = [
            (
                "--encryption-key-rotation=0",
                "the encryption-key-rotation flag must be greater than 0",
            ),
            (
                "--key-rotation-max-concurrency=0",
                "the key-rotation-max-concurrency flag must be greater than 0",
            ),
            (
                "--shards=2 --leader-elect=false",
                "the shards flag needs the leader-elect flag: each shard has a lease",
            ),
        ];
        for (flags, text) in cases {
            let flags: Vec<_> = flags.split(' ').collect();
            assert_eq!(decided(&flags, &everywhere), Err(text.to_owned()));
        }
        assert_eq!(
            decided(&[], &[]),
            Err("WATCH_NAMESPACE must be set".to_owned())
        );
        assert!(decided(&[], &everywhere).is_ok());
    }

    #[test]
    fn prop_6_watch_namespace_lists_one_or_several_namespaces() {
        let of = |text| {
            decided(&[], &[("WATCH_NAMESPACE", text)])
                .unwrap()
                .namespaces
        };
        for all in ["", " ", ","] {
            assert_eq!(of(all), Namespaces::All);
        }
        assert!(Namespaces::All.contains("any"));
        assert!(of("a").contains("a") && !of("a").contains("b"));
        let two = Namespaces::Some(["a", "b"].map(str::to_owned).into());
        assert_eq!(of("b, a,"), two);
    }

    #[test]
    fn placement_rules_are_probed_unless_the_flag_is_given() {
        let of = |flags: &[&str]| {
            let settings = decided(flags, &[("WATCH_NAMESPACE", "")]);
            settings.unwrap().placement_rules
        };
        assert_eq!(of(&[]), PlacementRules::Probe);
        assert_eq!(of(&["--disable-placementrule"]), PlacementRules::Off);
        assert_eq!(of(&["--disable-placementrule=true"]), PlacementRules::Off);
        assert_eq!(of(&["--disable-placementrule=false"]), PlacementRules::On);
    }

    #[test]
    fn compliance_is_reported_unless_disabled() {
        let of = |value| {
            let variables = [("WATCH_NAMESPACE", ""), ("DISABLE_REPORT_METRICS", value)];
            decided(&[], &variables).unwrap().compliance_reporting
        };
        assert_eq!(of("True"), ComplianceReporting::Off);
        assert_eq!(of("yes"), ComplianceReporting::On);
        assert_eq!(of(""), ComplianceReporting::On);
    }
}
