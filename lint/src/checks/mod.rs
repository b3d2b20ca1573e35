//! What violates rules.

mod bindings;
mod constraint_templates;
mod dependencies;
mod names;
mod policies;
mod scalars;
mod schema;
mod selectors;
mod templates;
mod text;

use serde_json::Value;

use crate::file::File;
use crate::finding::Finding;
use crate::items::{self, Item, Role};
use crate::kinds;
use crate::messages;

/// Everything that is wrong in files. `crds` are more definitions.
pub(crate) fn all(files: &[File], crds: &[Value]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        findings.extend(text::check(file));
        for document in &file.documents {
            match &document.value {
                Err(why) => {
                    let finding = file.finding(document, "", "RVL001", why.clone());
                    findings.push(located(finding, why, document.line));
                }
                Ok(value) if !value.is_null() && !value.is_object() => {
                    let why = messages::NOT_AN_OBJECT.to_owned();
                    findings.push(file.finding(document, "", "RVL001", why));
                }
                Ok(_) => {}
            }
        }
    }
    let items = items::of_files(files);
    let own: Vec<&Item<'_>> = items.iter().filter(|item| is_crd(item)).collect();
    let definitions: Vec<&Value> = own.iter().map(|item| item.value).chain(crds).collect();
    let (kinds, broken) = kinds::with(&definitions);
    for (index, why) in broken {
        if let Some(item) = own.get(index) {
            findings.push(item.finding("", "RVL002", why));
        }
    }
    for item in &items {
        findings.extend(schema::check(item, &kinds));
        findings.extend(names::check(item));
        findings.extend(scalars::check(item));
        findings.extend(templates::check(item));
        findings.extend(policies::check(item, &kinds));
        findings.extend(constraint_templates::check(item));
    }
    findings.extend(names::duplicates(&items));
    findings.extend(bindings::check(&items));
    findings.extend(dependencies::check(&items));
    findings.extend(selectors::check(&items));
    findings
}

fn is_crd(item: &Item<'_>) -> bool {
    matches!(item.role, Role::Document)
        && item.is("apiextensions.k8s.io", "CustomResourceDefinition")
}

/// The finding on the line that the reader of YAML names, which counts from the start of the document.
fn located(finding: Finding, why: &str, first: usize) -> Finding {
    let Some((_, rest)) = why.split_once("line ") else {
        return finding;
    };
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    match digits.parse::<usize>() {
        Ok(line) => Finding {
            line: first + line.saturating_sub(1),
            column: 0,
            end_column: 0,
            // The number counts from the start of the document, which would confuse.
            message: finding.message.replacen(&format!("line {line}: "), "", 1),
            ..finding
        },
        Err(_) => finding,
    }
}
