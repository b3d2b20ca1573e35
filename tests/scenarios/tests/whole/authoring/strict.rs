//! The generator's output is linted before anybody applies it.

use anyhow::{Result, ensure};
use reeve_testkit::reeve_binary;

use crate::authoring::folder::{Folder, PLAIN, Ran};

const CONFIG_MAP: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: cm, namespace: default}}";

fn generate(folder: &Folder, arguments: &[&str]) -> Result<Ran> {
    let arguments = [&["generate"], arguments].concat();
    folder.run(&reeve_binary()?, &arguments, PLAIN)
}

/// Without `--strict` upstream's output, mistakes included; with it, nothing after an error.
pub(crate) fn refused() -> Result<()> {
    let generator = |name: &str, severity: &str| {
        format!(
            "policyDefaults: {{namespace: ns, severity: {severity}}}\npolicies:\n- name: {name}\n  manifests: [{{path: cm.yaml}}]\n"
        )
    };
    let folder = Folder::new(&[
        ("cm.yaml", CONFIG_MAP),
        ("good.yaml", &generator("good", "high")),
        ("bad.yaml", &generator("bad", "highest")),
        ("again.yaml", &generator("good", "low")),
    ])?;
    let good = generate(&folder, &["--strict", "good.yaml"])?;
    let same = generate(&folder, &["good.yaml"])?.ended_with(0)?;
    ensure!(good.out == same && good.code == Some(0), "{good:?}");

    let as_upstream = generate(&folder, &["bad.yaml"])?;
    ensure!(as_upstream.ended_with(0)?.contains("severity: highest"));
    for (files, expected) in [
        (&["bad.yaml"][..], ["(generated):", "highest"]),
        (
            &["good.yaml", "again.yaml"],
            [
                "again.yaml: the Policy good",
                "also generated from good.yaml",
            ],
        ),
    ] {
        let ran = generate(&folder, &[files, &["--strict"]].concat())?;
        ensure!(ran.code == Some(2), "{ran:?}");
        ensure!(ran.out.is_empty(), "{ran:?}");
        for part in expected {
            ensure!(ran.error.contains(part), "{ran:?}");
        }
    }
    Ok(())
}
