//! Reads the source files of a crate: the path of each module, and the paths that it uses.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, ItemUse, Macro, UseTree, Visibility};

/// The path of a module or an item from the root of its crate.
pub(super) type ItemPath = Vec<String>;

/// What one module uses.
#[derive(Default)]
pub(super) struct Module {
    /// The paths that it names, absolute.
    pub uses: Vec<ItemPath>,
    /// The items of others that it exports, by the name here.
    pub exports: BTreeMap<String, ItemPath>,
}

/// The modules below `src`, without tests.
pub(super) fn read(src: &Path) -> Result<BTreeMap<ItemPath, Module>> {
    let mut modules = BTreeMap::new();
    read_folder(src, &mut Vec::new(), &mut modules)?;
    Ok(modules)
}

fn read_folder(
    folder: &Path,
    path: &mut ItemPath,
    modules: &mut BTreeMap<ItemPath, Module>,
) -> Result<()> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries {
        let entry = entry?.path();
        let name = entry.file_stem().unwrap_or_default().to_string_lossy();
        if is_test(&name) {
            continue;
        }
        if entry.is_dir() {
            path.push(name.into_owned());
            read_folder(&entry, path, modules)?;
            path.pop();
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            let mut path = path.clone();
            if !["mod", "lib", "main"].contains(&&*name) {
                path.push(name.into_owned());
            }
            let text = fs::read_to_string(&entry)?;
            let file = syn::parse_file(&text)
                .with_context(|| format!("cannot parse {}", entry.display()))?;
            let mut reader = Reader {
                path: path.clone(),
                module: Module::default(),
            };
            reader.visit_file(&file);
            modules.insert(path, reader.module);
        }
    }
    Ok(())
}

fn is_test(name: &str) -> bool {
    name == "tests" || name == "testing" || name.ends_with("_tests")
}

struct Reader {
    path: ItemPath,
    module: Module,
}

impl Reader {
    /// The absolute form of a path that begins with `crate`, `self` or `super`; the name of a child module counts as well.
    fn absolute(&self, named: &[String]) -> Option<ItemPath> {
        let (first, rest) = named.split_first()?;
        let mut absolute = match first.as_str() {
            "crate" => Vec::new(),
            "super" => self.path.get(..self.path.len().checked_sub(1)?)?.to_vec(),
            _ => self.path.clone(),
        };
        let mut rest = match first.as_str() {
            "crate" | "self" | "super" => rest,
            _ => named,
        };
        while let [first, others @ ..] = rest
            && first == "super"
        {
            absolute.pop()?;
            rest = others;
        }
        absolute.extend(rest.iter().cloned());
        Some(absolute)
    }

    fn add(&mut self, named: &[String]) {
        if let Some(path) = self.absolute(named) {
            self.module.uses.push(path);
        }
    }

    /// Paths in the arguments of macros, which are not parsed.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut named: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.add_rooted(&named);
                        named.clear();
                    }
                    named.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && colons < 2 => colons += 1,
                TokenTree::Group(group) => {
                    self.add_tokens(group.stream());
                    self.add_rooted(&named);
                    named.clear();
                    colons = 0;
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    self.add_rooted(&named);
                    named.clear();
                    colons = 0;
                }
            }
        }
        self.add_rooted(&named);
    }

    fn add_rooted(&mut self, named: &[String]) {
        let roots = ["crate", "self", "super"];
        if named.len() > 1 && roots.contains(&named[0].as_str()) {
            self.add(named);
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if module.content.is_some() {
            self.path.push(module.ident.to_string());
            visit::visit_item_mod(self, module);
            self.path.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut leaves = Vec::new();
        expand(&item.tree, &mut Vec::new(), &mut leaves);
        for (named, alias) in leaves {
            self.add(&named);
            if !matches!(item.vis, Visibility::Inherited)
                && let Some(target) = self.absolute(&named)
            {
                self.module.exports.insert(alias, target);
            }
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter();
        let named: Vec<_> = segments.map(|segment| segment.ident.to_string()).collect();
        self.add_rooted(&named);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invocation: &'ast Macro) {
        self.add_tokens(invocation.tokens.clone());
        visit::visit_macro(self, invocation);
    }
}

/// The leaves of a `use`, each with its name here.
fn expand(tree: &UseTree, prefix: &mut ItemPath, leaves: &mut Vec<(ItemPath, String)>) {
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            expand(&path.tree, prefix, leaves);
            prefix.pop();
        }
        UseTree::Name(name) if name.ident == "self" => {
            leaves.push((prefix.clone(), prefix.last().cloned().unwrap_or_default()));
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            leaves.push((
                [prefix.as_slice(), std::slice::from_ref(&name)].concat(),
                name,
            ));
        }
        UseTree::Rename(rename) => {
            let path = [prefix.as_slice(), &[rename.ident.to_string()]].concat();
            leaves.push((path, rename.rename.to_string()));
        }
        UseTree::Glob(_) => leaves.push((prefix.clone(), "*".to_owned())),
        UseTree::Group(group) => {
            for tree in &group.items {
                expand(tree, prefix, leaves);
            }
        }
    }
}

fn attributes(item: &syn::Item) -> &[Attribute] {
    match item {
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        _ => &[],
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Path>()
                .is_ok_and(|condition| condition.is_ident("test"))
    })
}
