//! The graph of the modules that share a parent.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::source::{ItemPath, Module};

/// The children of one module, and the arrows among them.
pub(super) struct Level {
    parent: ItemPath,
    graph: DiGraph<String, ()>,
}

/// The graph of every module with children, the crate's root first.
pub(super) fn levels(modules: &BTreeMap<ItemPath, Module>) -> Vec<Level> {
    let mut children: BTreeMap<ItemPath, BTreeSet<String>> = BTreeMap::new();
    for path in modules.keys() {
        for (depth, name) in path.iter().enumerate() {
            let siblings = children.entry(path[..depth].to_vec()).or_default();
            siblings.insert(name.clone());
        }
    }
    let mut arrows: BTreeMap<ItemPath, BTreeSet<(String, String)>> = BTreeMap::new();
    for (path, module) in modules {
        for used in &module.uses {
            let target = resolve(used, modules);
            let shared = path.iter().zip(&target).take_while(|(a, b)| a == b).count();
            if let (Some(from), Some(to)) = (path.get(shared), target.get(shared)) {
                let arrows = arrows.entry(path[..shared].to_vec()).or_default();
                arrows.insert((from.clone(), to.clone()));
            }
        }
    }
    let levels = children.into_iter().map(|(parent, names)| {
        let arrows = arrows.remove(&parent).unwrap_or_default();
        Level::new(parent, names, &arrows)
    });
    levels.collect()
}

/// The module that an item is in, through re-exports.
fn resolve(used: &ItemPath, modules: &BTreeMap<ItemPath, Module>) -> ItemPath {
    let mut path = used.clone();
    // A re-export may lead to another. A chain this long is a circle of its own, which the compiler refuses.
    for _ in 0..8 {
        let end = (0..=path.len()).rev();
        let Some(end) = end
            .into_iter()
            .find(|end| modules.contains_key(&path[..*end]))
        else {
            return Vec::new();
        };
        let module = path[..end].to_vec();
        let exported = path
            .get(end)
            .and_then(|name| modules[&module].exports.get(name));
        match exported {
            Some(target) if *target != path => {
                let rest = path.split_off(end + 1);
                path = [target.as_slice(), &rest].concat();
            }
            _ => return module,
        }
    }
    path
}

impl Level {
    fn new(parent: ItemPath, names: BTreeSet<String>, arrows: &BTreeSet<(String, String)>) -> Self {
        let mut graph = DiGraph::new();
        let nodes: BTreeMap<String, NodeIndex> = names
            .into_iter()
            .map(|name| (name.clone(), graph.add_node(name)))
            .collect();
        for (from, to) in arrows {
            if let (Some(from), Some(to)) = (nodes.get(from), nodes.get(to)) {
                graph.add_edge(*from, *to, ());
            }
        }
        Self { parent, graph }
    }

    /// How many modules there are.
    pub(super) fn modules(&self) -> usize {
        self.graph.node_count()
    }

    /// How many arrows there are among them.
    pub(super) fn arrows(&self) -> usize {
        self.graph.edge_count()
    }

    /// The modules of each circle, with its arrows.
    pub(super) fn circles(&self) -> impl Iterator<Item = String> {
        let circles = tarjan_scc(&self.graph).into_iter();
        circles.filter(|circle| circle.len() > 1).map(|circle| {
            let inside = |node: &NodeIndex| circle.contains(node);
            let arrows = self.graph.edge_indices();
            let arrows = arrows.filter_map(|arrow| self.graph.edge_endpoints(arrow));
            let mut arrows: Vec<String> = arrows
                .filter(|(from, to)| inside(from) && inside(to))
                .map(|(from, to)| format!("{} -> {}", self.graph[from], self.graph[to]))
                .collect();
            arrows.sort();
            let parent = ["crate"]
                .into_iter()
                .chain(self.parent.iter().map(String::as_str));
            let parent: Vec<&str> = parent.collect();
            format!("{}: {}", parent.join("::"), arrows.join(", "))
        })
    }

    /// The number of modules on the longest way along arrows, each circle as one step.
    pub(super) fn depth(&self) -> usize {
        let mut depths: BTreeMap<NodeIndex, usize> = BTreeMap::new();
        // Tarjan's algorithm returns what is used before what uses it.
        for circle in tarjan_scc(&self.graph) {
            let below = circle.iter().flat_map(|node| self.graph.neighbors(*node));
            let below = below.filter_map(|node| depths.get(&node)).max();
            let depth = below.map_or(1, |below| below + 1);
            depths.extend(circle.into_iter().map(|node| (node, depth)));
        }
        depths.into_values().max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(uses: &[(&str, &[&str])]) -> BTreeMap<ItemPath, Module> {
        let split = |path: &str| -> ItemPath {
            let parts = path.split("::").filter(|part| !part.is_empty());
            parts.map(str::to_owned).collect()
        };
        let module = |uses: &[&str]| Module {
            uses: uses.iter().map(|path| split(path)).collect(),
            exports: BTreeMap::new(),
        };
        uses.iter()
            .map(|(path, uses)| (split(path), module(uses)))
            .collect()
    }

    #[test]
    fn circle_is_found_where_paths_part() {
        let modules = modules(&[
            ("", &["a::X"]),
            ("a", &[]),
            ("a::b", &["a::c::X", "d::X"]),
            ("a::c", &["a::b::X"]),
            ("d", &[]),
        ]);
        let levels = levels(&modules);
        let circles: Vec<_> = levels.iter().flat_map(Level::circles).collect();
        assert_eq!(circles, ["crate::a: b -> c, c -> b"]);
        assert_eq!(
            (levels[0].modules(), levels[0].arrows(), levels[0].depth()),
            (2, 1, 2)
        );
    }

    #[test]
    fn re_export_leads_to_the_module_of_the_item() {
        let mut modules = modules(&[("", &[]), ("a", &["X"]), ("b", &[])]);
        let target = vec!["b".to_owned(), "X".to_owned()];
        modules
            .get_mut(&ItemPath::new())
            .unwrap()
            .exports
            .insert("X".to_owned(), target);
        assert_eq!(levels(&modules)[0].arrows(), 1);
    }
}
