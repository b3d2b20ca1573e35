//! `reeve lint`, as a process. The cases are in `lint/tests/cases`.

use crate::cases;
use crate::cases::Cases;
use anyhow::{Result, ensure};

const ALL: Cases = Cases {
    of: "lint",
    plain: None,
};

cases! {
    ALL;
    lint_1_usage => "usage",
    lint_1_stdin => "stdin",
    lint_1_clean => "clean",
    lint_2_rules => "rules",
    lint_2_template_text => "template-text",
    lint_3_fail_on => "fail-on",
    lint_4_outputs => "outputs",
    lint_5_ignore => "ignore",
    lint_6_fix_keeps_data => "fix-keeps-data",
    lint_7_1_unreadable => "unreadable",
    lint_7_2_schema => "schema",
    lint_7_2_kinds => "kinds",
    lint_7_2_crd => "crd",
    lint_7_2_crd_broken => "crd-broken",
    lint_7_3_unknown_fields => "unknown-fields",
    lint_7_4_names => "names",
    lint_7_5_duplicates => "duplicates",
    lint_7_6_template_errors => "template-errors",
    lint_7_7_booleans => "booleans",
    lint_7_8_text => "text",
    lint_7_8_anchors => "anchors",
    lint_7_9_numbers => "numbers",
    lint_7_10_dates => "dates",
    lint_7_11_selectors => "selectors",
    lint_7_12_bindings => "bindings",
    lint_7_15_deprecated => "deprecated",
    lint_7_2_enforcement_actions => "enforcement-actions",
    schemas_of_constraint_templates => "constraint-templates",
    lint_7_6_disabled_templates => "disabled-templates",
    lint_7_20_dependencies => "dependencies",
    lint_7_16_policies => "policies",
}

#[test]
fn lint_2_every_rule_is_on_the_page() -> Result<()> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/lint.md");
    let page = std::fs::read_to_string(page)?;
    for rule in reeve_lint::RULES {
        let title = format!("### {} {}\n", rule.id, rule.name);
        ensure!(page.contains(&title), "docs/lint.md has no {title}");
    }
    Ok(())
}
