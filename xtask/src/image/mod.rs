//! The image: one program with the names of all components, and nothing that it does not need.
//!
//! The same program gives the same archive, bit for bit: no clock, no user, no order of a file system is in it.

mod archive;
mod elf;
mod layer;
mod profile_guided;

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::run;
use elf::{Linkage, Machine};

/// What the image is made of.
#[derive(Args)]
pub(crate) struct Options {
    /// A `reeve` program that exists already. It must be linked statically. Absent: it is built.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Where the archive is written. Absent: image/reeve.tar in the folder that cargo builds into.
    #[arg(long)]
    output: Option<PathBuf>,
    /// What is built for. Absent: this machine's processor, with musl.
    #[arg(long, conflicts_with = "binary")]
    target: Option<String>,
    /// Build the program twice, and let all components work in between, from which the compiler learns what of the code is used. It
    /// takes three times as long, and gives components that need a quarter less memory and less CPU. Releases are built so.
    #[arg(long, conflicts_with = "binary")]
    profile_guided: bool,
}

/// Builds the program unless there is one, and writes the archive.
pub(crate) fn build(options: Options) -> Result<()> {
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => program(&options)?,
    };
    let output = match options.output {
        Some(output) => output,
        None => run::target_folder().join("image/reeve.tar"),
    };
    let image = pack(&binary)?;
    if let Some(folder) = output.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fs::write(&output, &image.archive)
        .with_context(|| format!("cannot write {}", output.display()))?;
    println!("{} has the image {}", output.display(), image.digest);
    Ok(())
}

/// The archive of an image, and the digest by which registries know it.
struct Image {
    archive: Vec<u8>,
    digest: String,
}

fn pack(binary: &Path) -> Result<Image> {
    let what = || format!("cannot read {}", binary.display());
    let program = fs::read(binary).with_context(what)?;
    let (machine, linkage) = elf::read(&program).with_context(what)?;
    ensure!(
        linkage == Linkage::Static,
        "{} needs libraries, which the image does not have: link it statically (target {})",
        binary.display(),
        target_of(machine),
    );
    let layer = layer::write(&program).context("cannot make the image's layer")?;
    archive::write(&layer, machine).context("cannot make the image's archive")
}

/// Builds the program that the options ask for.
fn program(options: &Options) -> Result<PathBuf> {
    let target = match &options.target {
        Some(target) => target,
        None => target_of(this_machine()?),
    };
    require_installed(target)?;
    if options.profile_guided {
        profile_guided::build(target)
    } else {
        compile(target, None)
    }
}

/// Says what to do where the compiler only says what it cannot find.
fn require_installed(target: &str) -> Result<()> {
    let list = ["target", "list", "--installed"];
    if let Ok(list) = std::process::Command::new("rustup").args(list).output() {
        let list = String::from_utf8_lossy(&list.stdout).into_owned();
        ensure!(
            list.lines().any(|installed| installed == target),
            "the target {target} is not installed: `rustup target add {target}`, and musl-gcc for the parts in C \
             (Debian: apt install musl-tools)"
        );
    }
    Ok(())
}

/// Builds the program, with a flag for the compiler if there is one.
fn compile(target: &str, flag: Option<&OsStr>) -> Result<PathBuf> {
    let command = [
        "build",
        "--release",
        "--locked",
        "--bin",
        "reeve",
        "--target",
        target,
    ];
    // Unlike in RUSTFLAGS, a space in a path does not end the flag.
    let env = flag.map(|flag| ("CARGO_ENCODED_RUSTFLAGS", flag));
    run::cargo_with(&command, env.as_slice())?;
    Ok(run::target_folder().join(target).join("release/reeve"))
}

fn this_machine() -> Result<Machine> {
    match std::env::consts::ARCH {
        "x86_64" => Ok(Machine::Amd64),
        "aarch64" => Ok(Machine::Arm64),
        other => bail!("no image is made for {other}: name a --target"),
    }
}

fn target_of(machine: Machine) -> &'static str {
    match machine {
        Machine::Amd64 => "x86_64-unknown-linux-musl",
        Machine::Arm64 => "aarch64-unknown-linux-musl",
    }
}
