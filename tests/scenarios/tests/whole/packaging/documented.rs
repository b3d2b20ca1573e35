//! `docs/install.md`, as it stands: its commands are read from the text and played as far as that needs no registry.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;
use reeve_testkit::{Packager, cargo_command, workspace};
use tar::Archive;

use crate::packaging::rendered::{by_key, images, rendered};

/// The commands of a section, one a line; what is continued on the next line is one.
fn commands(page: &str, title: &str) -> Result<Vec<String>> {
    let (_, section) = page
        .split_once(&format!("\n## {title}\n"))
        .with_context(|| format!("no section {title}"))?;
    let section = section.split("\n## ").next().unwrap_or_default();
    let blocks = section.split("```sh\n").skip(1);
    let text: String = blocks
        .filter_map(|block| block.split("```").next())
        .collect::<String>()
        .replace("\\\n", " ");
    Ok(text.lines().map(|line| line.trim().to_owned()).collect())
}

fn command<'a>(commands: &'a [String], begin: &str) -> Result<&'a str> {
    let found = commands.iter().find(|command| command.starts_with(begin));
    Ok(found.with_context(|| format!("no command {begin}"))?)
}

/// A program without libraries, as far as the image's builder looks at it.
fn program() -> Vec<u8> {
    let mut program = b"\x7fELF\x02\x01\x01".to_vec();
    program.resize(64, 0);
    (program[18], program[32], program[54], program[56]) = (62, 64, 56, 1);
    program.push(1);
    program.resize(64 + 56, 0);
    program
}

/// The names in the image's folder of programs.
fn programs(archive: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let mut outer = Archive::new(fs::File::open(archive)?);
    for entry in outer.entries()? {
        let mut content = Vec::new();
        entry?.read_to_end(&mut content)?;
        // Only the layer is compressed.
        if !content.starts_with(&[0x1f, 0x8b]) {
            continue;
        }
        for file in Archive::new(GzDecoder::new(&content[..])).entries()? {
            let path = file?.path()?.into_owned();
            if path
                .parent()
                .is_some_and(|parent| parent.ends_with("usr/local/bin"))
            {
                let name = path.file_name().unwrap_or_default();
                names.insert(name.to_string_lossy().into_owned());
            }
        }
    }
    Ok(names)
}

pub(crate) async fn install_page_names_published_image() -> Result<()> {
    let page = fs::read_to_string(workspace().join("docs/install.md"))?;
    let image = commands(&page, "The image")?;
    let build = command(&image, "cargo xtask image")?;
    let push = command(&image, "skopeo copy")?;
    let (archive, pushed) = push
        .split_once(" docker://")
        .context("the image is pushed nowhere")?;
    let (_, archive) = archive.split_once("oci-archive:").context("no archive")?;
    ensure!(
        build.ends_with(&format!("# {archive}")),
        "{build:?} does not make {archive}"
    );
    ensure!(
        pushed.ends_with(&format!("/reeve:{}", env!("CARGO_PKG_VERSION"))),
        "{pushed} is not this version"
    );

    let folder = tempfile::tempdir()?;
    let (binary, output) = (folder.path().join("reeve"), folder.path().join("reeve.tar"));
    fs::write(&binary, program())?;
    let packed = cargo_command(&["xtask", "image", "--binary"])
        .arg(&binary)
        .arg("--output")
        .arg(&output)
        .output()?;
    ensure!(
        packed.status.success(),
        "{}",
        String::from_utf8_lossy(&packed.stderr)
    );
    let programs = programs(&output)?;

    let kustomize = commands(&page, "With kustomize")?;
    let kustomize = command(&kustomize, "kubectl apply")?;
    let overlay = kustomize.split(" -k ").nth(1).context("no overlay")?;
    let overlay = vec!["build".to_owned(), overlay.trim().to_owned()];
    let helm = commands(&page, "With Helm")?;
    let helm = command(&helm, "helm install")?.replacen("helm install", "template", 1);
    let words = helm.split_whitespace();
    let words = words.filter(|word| *word != "--create-namespace");
    let helm: Vec<String> = words.map(str::to_owned).collect();
    for (packager, arguments) in [(Packager::Kustomize, overlay), (Packager::Helm, helm)] {
        let objects = by_key(&rendered(packager, arguments.clone()).await?)?;
        let named = images(&objects)?;
        ensure!(
            named == [pushed; 4],
            "{arguments:?} names {named:?}, not {pushed}"
        );
        for ((kind, _, name), object) in &objects {
            if kind != "Deployment" {
                continue;
            }
            let command = &object["spec"]["template"]["spec"]["containers"][0]["command"][0];
            let is_there = command
                .as_str()
                .is_some_and(|command| programs.contains(command));
            ensure!(
                is_there,
                "{name} runs {command}, the image has {programs:?}"
            );
        }
    }
    for agent in [
        "config-policy-controller",
        "governance-policy-framework-addon",
    ] {
        ensure!(programs.contains(agent), "the image has {programs:?}");
    }

    let replaced = commands(&page, "With clusteradm")?;
    let replaced = command(&replaced, "image=")?;
    ensure!(replaced == format!("image={pushed}"), "{replaced}");
    Ok(())
}
