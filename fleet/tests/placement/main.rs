//! The placement controller on a real API server, and on the one in memory.
//!
//! A scenario gets a client and a name of its own, nothing else, so that the same list can be run on any server that has
//! the CRDs and the controllers.

mod basics;
mod debug;
mod groups;
mod hub;
mod lives;
mod play;
mod predicates;
mod prioritizers;
mod sets;
mod taints;

use std::process::ExitCode;

use reeve_fleet::placement::controller::{self, Means};

use play::{Scenario, scenarios};

fn list() -> Vec<Scenario> {
    scenarios![
        "case_i01_deleted_decisions_come_back", "i01", basics::deleted_decisions;
        "case_i02_a_terminating_cluster_is_left", "i02", basics::terminating_cluster;
        "case_i03_nothing_bound", "i03", basics::nothing_bound;
        "case_i04_a_hundred_and_one_clusters", "i04", basics::many;
        "case_i05_fewer_sets", "i05", basics::fewer_sets;
        "case_i06_fewer_clusters", "i06", basics::fewer;
        "case_i07_more_clusters", "i07", basics::more;
        "case_i08_a_mistake_and_its_end", "i08", basics::mistake;
        "case_i09_clusters_come", "i09", basics::clusters_come;
        "case_i10_a_set_by_labels", "i10", sets::by_labels;
        "case_i11_groups_follow", "i11", groups::follow;
        "case_i12_the_set_of_all", "i12", sets::global;
        "case_i13_a_second_set", "i13", sets::second;
        "case_i14_a_second_set_by_labels", "i14", sets::second_by_labels;
        "case_i15_a_set_goes_and_comes", "i15", sets::deleted;
        "case_i16_a_set_by_labels_goes_and_comes", "i16", sets::deleted_by_labels;
        "case_i17_a_binding_goes_and_comes", "i17", sets::unbound;
        "case_i18_labels", "i18", predicates::labels;
        "case_i19_claims", "i19", predicates::claims;
        "case_i20_expressions", "i20", predicates::expressions;
        "case_i21_defaults", "i21", prioritizers::defaults;
        "case_i22_exactly_resources", "i22", prioritizers::resources;
        "case_i23_steady", "i23", prioritizers::steady;
        "case_i24_balance", "i24", prioritizers::balance;
        "case_i25_a_cluster_that_is_better", "i25", prioritizers::better;
        "case_i26_scores", "i26", prioritizers::scores;
        "case_i27_scores_come", "i27", prioritizers::scores_come;
        "case_i28_tolerations", "i28", taints::tolerations;
        "case_i29_effects", "i29", taints::effects;
        "case_i30_seconds", "i30", taints::seconds;
        "case_i31_p192_p197_an_explanation", "i31", debug::explains;
        "case_i32_p198_p199_an_explanation_denied", "i32", debug::denied;
        "case_i33_p193_to_p195_an_explanation_of_what_is_not_there", "i33", debug::posted;
        "case_p177_to_p191_p196_p200_refusals", "p177", debug::refusals;
        "case_e1_from_binding_to_deletion", "e1", lives::whole_life;
        "case_e3_a_plain_placement", "e3", lives::plain;
        "events_tell_what_was_done", "events", lives::events;
        "rough_edge_01_a_withdrawal_says_why", "re01", lives::withdrawal;
        "rough_edge_07_an_expiring_score_is_dropped_in_time", "re07", prioritizers::expiring;
        "rough_edge_08_scores_read_by_expressions_only", "re08", predicates::scores_by_cel;
        "rough_edge_20_a_foreign_decision_is_adopted", "re20", basics::adopted;
        "others_decide_where_scheduling_is_off", "off", basics::switched_off;
        "an_idle_controller_writes_nothing", "idle", basics::idle;
    ]
}

fn main() -> ExitCode {
    play::main("placement", &list(), |client, stop| {
        let means = Means::of(client);
        let debugger = means.debugger();
        tokio::spawn(controller::run(means, stop));
        Some(debugger)
    })
}
