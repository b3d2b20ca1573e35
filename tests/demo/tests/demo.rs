//! The README's first command works and ends as the README describes.

use std::process::Command;

#[test]
fn demo_ends_with_all_policies_compliant_on_both_clusters() {
    let demo = Command::new(env!("CARGO_BIN_EXE_reeve-demo"))
        .arg("--exit")
        .output();
    let demo = demo.expect("the demo starts");
    let text = String::from_utf8_lossy(&demo.stdout);
    let errors = String::from_utf8_lossy(&demo.stderr);
    assert!(demo.status.success(), "{text}\n{errors}");
    let cells = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = text.lines().map(cells).collect();
    for policy in ["policy-namespace", "policy-pod", "policy-role"] {
        let row = |compliance: &str| {
            [policy, compliance, compliance, compliance]
                .map(str::to_owned)
                .to_vec()
        };
        let violated = rows.iter().position(|found| *found == row("NonCompliant"));
        let repaired = rows.iter().rposition(|found| *found == row("Compliant"));
        assert!(
            violated.is_some() && violated < repaired,
            "{policy} in:\n{text}"
        );
    }
    let last = rows
        .iter()
        .rev()
        .find(|row| !row.is_empty())
        .map(|row| row.join(" "));
    assert!(
        last.is_some_and(|line| line.starts_with("every policy is Compliant")),
        "{text}"
    );
}
