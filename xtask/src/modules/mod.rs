//! The modules of each crate and the arrows among them: no module may need, over others, one that needs it.
//!
//! Two modules are compared where their paths part: a use of `a::b::X` in `a::c::d` is an arrow from `c` to `b` among the
//! children of `a`. What a parent and its children use of each other is no arrow. Tests are left out.

mod graph;
mod source;

use anyhow::{Context, Result, bail};
use cargo_metadata::MetadataCommand;

use graph::Level;

/// Fails when the modules of any crate form a circle.
pub(crate) fn check() -> Result<()> {
    let mut circles = Vec::new();
    for (package, levels) in levels()? {
        for level in &levels {
            circles.extend(level.circles().map(|circle| format!("{package}: {circle}")));
        }
    }
    if !circles.is_empty() {
        bail!("circles of modules:\n  {}", circles.join("\n  "));
    }
    Ok(())
}

/// Prints the graph of each crate: its top-level modules, and the sums over all levels.
pub(crate) fn print() -> Result<()> {
    println!(
        "{:<32} {:>7} {:>6} {:>5} {:>10} {:>7}",
        "crate", "modules", "arrows", "depth", "all arrows", "circles"
    );
    for (package, levels) in levels()? {
        let Some(top) = levels.first() else { continue };
        let arrows: usize = levels.iter().map(Level::arrows).sum();
        let circles: usize = levels.iter().map(|level| level.circles().count()).sum();
        println!(
            "{package:<32} {:>7} {:>6} {:>5} {arrows:>10} {circles:>7}",
            top.modules(),
            top.arrows(),
            top.depth()
        );
    }
    Ok(())
}

/// The levels of every crate with a library or a program in `src`, the top level first.
fn levels() -> Result<Vec<(String, Vec<Level>)>> {
    let metadata = MetadataCommand::new()
        .no_deps()
        .exec()
        .context("cannot read cargo metadata")?;
    let mut all = Vec::new();
    for package in metadata.workspace_packages() {
        let folder = package.manifest_path.parent();
        let folder = folder.context("a manifest in no folder")?.join("src");
        let files = source::read(folder.as_std_path())
            .with_context(|| format!("cannot read the modules of {}", package.name))?;
        all.push((package.name.to_string(), graph::levels(&files)));
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(all)
}
