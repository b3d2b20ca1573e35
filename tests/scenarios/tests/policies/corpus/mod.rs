//! Objects of many kinds, written as users write them and played through a real API server: whatever it
//! makes of them, the controller has the right verdict, writes once, and then leaves them alone.

mod access;
mod custom;
mod harness;
mod leaves;
mod limits;
mod network;
mod settings;
mod workloads;

use std::process::ExitCode;

use reeve_scenarios::{Evaluator, Scenario, SuiteRun, run_on_evaluator, scenario};

/// Objects by the names of their scenarios; their policies are named after the part with the number.
macro_rules! corpus {
    ($($name:ident: $item:path,)*) => {
        vec![$(scenario(stringify!($name), |world| {
            Box::pin(harness::run(world, stringify!($name), &$item))
        })),*]
    };
}

pub(crate) fn run(suite: SuiteRun) -> ExitCode {
    run_on_evaluator(suite, objects())
}

fn objects() -> Vec<Scenario<Evaluator>> {
    corpus![
        corpus1_deployment: workloads::DEPLOYMENT,
        corpus2_stateful_set: workloads::STATEFUL_SET,
        corpus3_daemon_set: workloads::DAEMON_SET,
        corpus4_cron_job: workloads::CRON_JOB,
        corpus5_job: workloads::JOB,
        corpus6_pod: workloads::POD,
        corpus7_replica_set: workloads::REPLICA_SET,
        corpus8_autoscaler: workloads::AUTOSCALER,
        corpus9_budget: workloads::BUDGET,
        corpus10_numbered_budget: workloads::NUMBERED_BUDGET,
        corpus11_cluster_ip: network::CLUSTER_IP,
        corpus12_node_port: network::NODE_PORT,
        corpus13_load_balancer: network::LOAD_BALANCER,
        corpus14_headless: network::HEADLESS,
        corpus15_external_name: network::EXTERNAL_NAME,
        corpus16_ingress: network::INGRESS,
        corpus17_deny_all: network::DENY_ALL,
        corpus18_allow: network::ALLOW,
        corpus19_slice: network::SLICE,
        corpus20_role: access::ROLE,
        corpus21_cluster_role: access::CLUSTER_ROLE,
        corpus22_aggregated: access::AGGREGATED,
        corpus23_role_binding: access::ROLE_BINDING,
        corpus24_cluster_role_binding: access::CLUSTER_ROLE_BINDING,
        corpus25_service_account: access::SERVICE_ACCOUNT,
        corpus26_admission_policy: access::ADMISSION_POLICY,
        corpus27_admission_binding: access::ADMISSION_BINDING,
        corpus28_webhook: access::WEBHOOK,
        corpus29_limit_range: limits::LIMIT_RANGE,
        corpus30_quota: limits::QUOTA,
        corpus31_claim: limits::CLAIM,
        corpus32_volume: limits::VOLUME,
        corpus33_storage_class: limits::STORAGE_CLASS,
        corpus34_priority_class: limits::PRIORITY_CLASS,
        corpus35_high_priority: limits::HIGH_PRIORITY,
        corpus36_runtime_class: limits::RUNTIME_CLASS,
        corpus37_config_map: settings::CONFIG_MAP,
        corpus38_immutable_map: settings::IMMUTABLE_MAP,
        corpus39_empty_map: settings::EMPTY_MAP,
        corpus40_secret: settings::SECRET,
        corpus41_data_secret: settings::DATA_SECRET,
        corpus42_string_secret: settings::STRING_SECRET,
        corpus43_namespace: settings::NAMESPACE,
        corpus44_lease: settings::LEASE,
        corpus45_gadget: custom::GADGET,
        corpus46_loose: custom::LOOSE,
        corpus47_definition: custom::DEFINITION,
        corpus48_blanks: workloads::BLANKS,
        corpus49_twofold_secret: settings::TWOFOLD_SECRET,
        corpus50_null_map: settings::NULL_MAP,
    ]
}
