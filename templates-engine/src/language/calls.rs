//! What a parsed template calls, and with which constants: for those who prepare its reads.

use super::tree::{Node, NodeId, Template};

impl Template {
    /// Whether a function of this name is called anywhere.
    pub fn calls(&self, name: &str) -> bool {
        self.callees.iter().any(|(known, _)| known == name)
    }

    /// Every call of these functions whose arguments are all string constants.
    pub fn constant_calls(&self, names: &[&str]) -> Vec<(&str, Vec<String>)> {
        let mut calls = Vec::new();
        for (_, node) in self.all() {
            let Node::Command(operands) = node else {
                continue;
            };
            let Some((first, arguments)) = self.children(operands).split_first() else {
                continue;
            };
            let Node::Identifier(callee) = self.node(*first) else {
                continue;
            };
            let name = self.callee(callee).map_or("", |(name, _)| name.as_str());
            if !names.contains(&name) {
                continue;
            }
            let constants: Option<Vec<String>> = arguments
                .iter()
                .map(|argument| self.constant(*argument))
                .collect();
            if let Some(constants) = constants {
                calls.push((name, constants));
            }
        }
        calls
    }

    fn constant(&self, node: NodeId) -> Option<String> {
        match self.node(node) {
            Node::String { value, .. } => self.string(value)?.as_utf8().map(str::to_owned),
            _ => None,
        }
    }
}
