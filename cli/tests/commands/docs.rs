//! The examples of guides, as users type them: a `yaml` block that begins with `# <file>` is that file, and in a `console`
//! block the lines behind `$ <command>` are all that the command prints.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

/// A block of a page.
struct Block {
    language: String,
    body: String,
}

fn blocks(page: &str) -> Result<Vec<Block>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../docs")
        .join(page);
    let text = std::fs::read_to_string(path)?;
    let mut all: Vec<Block> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        match (line.strip_prefix("```"), open) {
            (Some(_), true) => open = false,
            (Some(language), false) => {
                open = true;
                all.push(Block {
                    language: language.to_owned(),
                    body: String::new(),
                });
            }
            (None, true) => {
                let last = all.last_mut().context("a block is open")?;
                last.body.push_str(line);
                last.body.push('\n');
            }
            (None, false) => {}
        }
    }
    Ok(all)
}

/// Runs `a | b`, or one command, and returns everything that is printed, without colours.
fn run(work: &Path, line: &str) -> Result<String> {
    let mut input = Vec::new();
    let mut printed = String::new();
    let (line, file) = match line.split_once(" > ") {
        Some((line, file)) => (line, Some(file)),
        None => (line, None),
    };
    for command in line.split(" | ") {
        let mut words = command.split(' ');
        let mut process = Command::new(env!("CARGO_BIN_EXE_reeve"));
        process
            .arg0(words.next().unwrap_or_default())
            .args(words)
            .current_dir(work);
        process.env_remove("KUBECONFIG").env("HOME", work);
        process
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = process.spawn()?;
        if let Some(mut pipe) = child.stdin.take() {
            // A command that needs no input may have ended.
            let _ = pipe.write_all(&input);
        }
        let output = child.wait_with_output()?;
        input = output.stdout;
        printed.push_str(&String::from_utf8_lossy(&output.stderr));
    }
    let stdout = String::from_utf8_lossy(&input).into_owned();
    if let Some(file) = file {
        std::fs::write(work.join(file), stdout)?;
        return Ok(printed);
    }
    let mut plain = stdout + &printed;
    for code in ["0", "1", "31", "32", "33"] {
        plain = plain.replace(&format!("\u{1b}[{code}m"), "");
    }
    Ok(plain)
}

/// Runs the examples of a page, and returns how many commands there are.
fn check(page: &str) -> Result<usize> {
    let work = tempfile::tempdir()?;
    let mut count = 0;
    for block in blocks(page)? {
        let first = block.body.lines().next().unwrap_or_default();
        if block.language == "yaml"
            && let Some(file) = first.strip_prefix("# ")
            && Path::new(file).extension().is_some_and(|end| end == "yaml")
        {
            let path = work.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap_or(work.path()))?;
            std::fs::write(path, &block.body)?;
        }
        if block.language != "console" {
            continue;
        }
        for part in format!("\n{}", block.body).split("\n$ ").skip(1) {
            let (command, expected) = part.split_once('\n').unwrap_or((part, ""));
            let printed = run(work.path(), command)?;
            ensure!(
                printed.trim_end() == expected.trim_end(),
                "{page}: {command} printed\n{printed}\ninstead of\n{expected}"
            );
            count += 1;
        }
    }
    Ok(count)
}

#[test]
fn examples_of_dryrun_print_what_the_page_shows() -> Result<()> {
    ensure!(check("dryrun.md")? >= 3);
    Ok(())
}

#[test]
fn examples_of_resolve_print_what_the_page_shows() -> Result<()> {
    ensure!(check("resolve.md")? >= 4);
    Ok(())
}

#[test]
fn examples_of_lint_print_what_the_page_shows() -> Result<()> {
    ensure!(check("lint.md")? >= 2);
    Ok(())
}

#[test]
fn examples_for_users_of_upstreams_tools_print_what_the_page_shows() -> Result<()> {
    ensure!(check("from-upstream.md")? >= 4);
    Ok(())
}
