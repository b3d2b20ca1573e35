//! The texts of conditions that all kinds have.

use super::super::decide::state::Condition;
use super::*;

#[test]
fn op_17_generic_conditions() {
    // One kind for most, the one whose messages have names, and the one whose condition is inverted.
    let parts = [Part::OperatorGroup, Part::Csv, Part::CatalogSource];
    let names = ["a", "b"];
    let of = |part: Part| {
        [
            part.undetermined(),
            part.missing(),
            part.not_present(),
            part.present(&names),
            part.present(&names[..1]),
            part.created(),
            part.deleted(&names),
            part.deleting(&names),
            part.kept(),
            part.matches(),
            part.mismatch(),
            part.mismatch_forbidden(),
            part.updated(),
            part.not_applicable(),
            part.installed_elsewhere("global"),
        ]
    };
    let line = |condition: Condition| {
        let Condition {
            part,
            status,
            reason,
            message,
            ..
        } = condition;
        format!(
            "{}={} {reason}: {message}",
            part.condition_type(),
            status.as_str()
        )
    };
    let lines: Vec<String> = parts.into_iter().flat_map(of).map(line).collect();
    insta::assert_snapshot!(lines.join("\n"));
}
