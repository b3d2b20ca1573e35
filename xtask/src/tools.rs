//! Checks by programs that not every machine has.

use std::process::{Command, Stdio};

use anyhow::Result;

use crate::run;

/// A program, how to find out whether it is there, and how to check with it.
struct Tool {
    name: &'static str,
    version: [&'static str; 2],
    check: &'static [&'static str],
}

const TOOLS: [Tool; 2] = [
    Tool {
        name: "cargo-deny",
        version: ["cargo-deny", "--version"],
        // Advisories need a database that is not always within reach.
        check: &["cargo-deny", "check", "licenses", "bans", "sources"],
    },
    Tool {
        name: "typos",
        version: ["typos", "--version"],
        check: &["typos"],
    },
];

/// Runs each tool that is installed, and names the others.
pub(crate) fn check() -> Result<()> {
    let root = run::root()?;
    for tool in TOOLS {
        if !is_installed(&tool) {
            let name = tool.name;
            println!("{name} is not installed and was left out (cargo install {name} --locked)");
            continue;
        }
        let [program, arguments @ ..] = tool.check else {
            continue;
        };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&root);
        run::succeed(&mut command, &tool.check.join(" "))?;
    }
    Ok(())
}

fn is_installed(tool: &Tool) -> bool {
    let [program, argument] = tool.version;
    Command::new(program)
        .arg(argument)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
