//! SARIF 2.1.0 with regions and rules, as code scanning reads it.

use reeve_report::sarif::{SCHEMA, uri};
use serde_json::{Value, json};

use crate::finding::{Finding, Findings};
use crate::rules::{RULES, Rule};

pub(crate) fn print(findings: &Findings) -> String {
    let is_used = |rule: &&Rule| findings.all.iter().any(|one| one.rule.id == rule.id);
    let used: Vec<&Rule> = RULES.iter().filter(is_used).collect();
    let rules: Vec<Value> = used
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id, "name": rule.name,
                "shortDescription": { "text": rule.summary },
                "defaultConfiguration": { "level": rule.level.word() },
            })
        })
        .collect();
    let results: Vec<Value> = findings.all.iter().map(|one| result(one, &used)).collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "reeve lint", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

fn result(finding: &Finding, rules: &[&Rule]) -> Value {
    let index = rules.iter().position(|rule| rule.id == finding.rule.id);
    let mut region = json!({ "startLine": finding.line.max(1) });
    if finding.column > 0 {
        region["startColumn"] = finding.column.into();
    }
    if finding.column > 0 && finding.end_column > finding.column {
        region["endColumn"] = finding.end_column.into();
    }
    let uri = uri(&finding.path);
    json!({
        "ruleId": finding.rule.id,
        "ruleIndex": index,
        "level": finding.rule.level.word(),
        "message": { "text": finding.message },
        "locations": [{ "physicalLocation": { "artifactLocation": { "uri": uri }, "region": region } }],
    })
}
