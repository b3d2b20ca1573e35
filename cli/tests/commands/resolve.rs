//! `reeve resolve` and the program `template-resolver`, as processes. The cases are in `resolve/tests/cases`.

use crate::cases;
use crate::cases::Cases;

const ALL: Cases = Cases {
    of: "resolve",
    plain: None,
};

cases! {
    ALL;
    rsv_1_usage => "usage",
    rsv_3_no_cluster => "no-cluster",
    rsv_4_documents => "documents",
    rsv_5_hub => "hub",
    rsv_5_clusters => "clusters",
    rsv_6_hub_errors => "hub-errors",
    rsv_7_policy => "policy",
    rsv_7_errors_in_policy => "errors-in-policy",
    rsv_7_structure => "structure",
    rsv_8_configuration_policy => "configuration-policy",
    rsv_8_data_types => "data-types",
    rsv_8_object_variables => "object-variables",
    rsv_8_skip_object => "skip-object",
    rsv_9_raw => "raw",
    rsv_9_raw_alone => "raw-alone",
    rsv_10_operator_policy => "operator-policy",
    rsv_3_local_lists => "local-lists",
    rsv_11_skip_validation => "skip-validation",
    rsv_13_saved => "saved",
    rsv_13_saved_hub => "saved-hub",
    rsv_15_lint => "lint",
    rsv_15_lint_first => "lint-first",
}
