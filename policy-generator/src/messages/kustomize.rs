//! Why a kustomize directory is not built, in kustomize's words.

use std::fmt::Display;

use reeve_go_compat::runes::quote;

/// kustomize panics here.
pub fn invalid_image_name(name: &str, error: &dyn Display) -> String {
    format!("the image name '{name}' of kustomization.yaml is not a regular expression: {error}")
}

pub fn invalid_kustomization(error: &str) -> String {
    format!("invalid Kustomization: {error}")
}

pub const KUSTOMIZATION_KIND: &str = "kind should be Kustomization or Component";

pub const KUSTOMIZATION_VERSION: &str =
    "apiVersion for Kustomization should be kustomize.config.k8s.io/v1beta1";

pub const COMPONENT_VERSION: &str =
    "apiVersion for Component should be kustomize.config.k8s.io/v1alpha1";

pub fn unread_kustomization_file(dir: &str, why: &str) -> String {
    format!("Failed to read kustomization file under {dir}:\n{why}")
}

pub fn kustomize_circle(root: &str, visited: &dyn Display) -> String {
    format!("cycle detected: candidate root '{root}' contains visited root '{visited}'")
}

pub fn not_accumulated(as_file: &str, as_directory: &str) -> String {
    format!("accumulating resources: accumulation err='{as_file}': {as_directory}")
}

pub fn not_accumulated_file(resource: &str, error: &dyn Display) -> String {
    format!("accumulating resources from '{resource}': {error}")
}

pub fn not_merged_file(resource: &str, error: &dyn Display) -> String {
    format!("merging resources from '{resource}': {error}")
}

pub fn failed_merge(path: &str, error: &dyn Display) -> String {
    format!("recursed merging from path '{path}': {error}")
}

pub fn unexpected_component(path: &str) -> String {
    format!("expected kind != 'Component' for path '{path}'")
}

pub fn expected_component(path: &str) -> String {
    format!("expected kind 'Component' for path '{path}' but got 'Kustomization'")
}

pub const IN_COMPONENTS: &str = "accumulating components: ";

pub fn unloaded_component(error: &str) -> String {
    format!("loader.New {error}")
}

pub fn failed_component(error: &str) -> String {
    format!("accumulateDirectory: {error}")
}

pub const EMPTY_KUSTOMIZATION: &str = "kustomization.yaml is empty";

pub fn unconverted_kustomization(error: &dyn Display) -> String {
    invalid_kustomization(&format!("error converting YAML to JSON: {error}"))
}

pub fn no_kustomization(dir: &str) -> String {
    format!(
        "unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '{dir}'"
    )
}

pub fn several_kustomizations(dir: &str) -> String {
    format!("Found multiple kustomization files under: {dir}")
}

pub fn unresolved_in_kustomization(path: &str, missing: &str, error: &str) -> String {
    format!("evalsymlink failure on '{path}' : lstat {missing}: {error}")
}

pub fn not_a_directory(path: &str) -> String {
    format!("must build at directory: '{path}': file is not directory")
}

pub fn invalid_directory(error: &dyn Display) -> String {
    format!("must build at directory: not a valid directory: {error}")
}

pub fn not_a_file(path: &str) -> String {
    format!("'{path}' must resolve to a file")
}

pub fn no_target(path: &str, error: &dyn Display) -> String {
    format!("couldn't make target for path '{path}': {error}")
}

pub fn failed_target(path: &str, error: &dyn Display) -> String {
    format!("recursed accumulation of path '{path}': {error}")
}

pub fn unread_patch(path: &str, error: &dyn Display) -> String {
    format!("failed to get the patch file from path({path}): {error}")
}

/// `config` ends a line.
pub fn in_transformer(transformer: &str, config: &str) -> String {
    format!("trouble configuring builtin {transformer} with config: `\n{config}`: ")
}

pub fn patch_and_path(entry: &str) -> String {
    format!("patch and path can't be set at the same time\n{entry}")
}

pub fn no_patch_nor_path(entry: &str) -> String {
    format!("must specify one of patch and path in\n{entry}")
}

pub fn unparsed_patch(patch: &str) -> String {
    format!("unable to parse SM or JSON patch from {patch}")
}

pub fn patch_of_both_kinds(patch: &str) -> String {
    format!("illegally qualifies as both an SM and JSON patch: {patch}")
}

pub fn operations_without_target(patch: &str) -> String {
    format!("must specify a target for JSON patch {patch}")
}

pub fn several_patches_for_target(patch: &str) -> String {
    format!(
        "Multiple Strategic-Merge Patches in one `patches` entry is not allowed to set `patches.target` field: {patch}"
    )
}

pub fn no_target_of_patch(target: &str, error: &str) -> String {
    format!("unable to find patch target {target} in `resources`: {error}")
}

pub const OPERATORS: &str = "in, notin, =, ==, !=, gt, lt";

pub const KUSTOMIZE_OPERATORS: &str = "'=', '!=', '==', 'in', notin'";

pub const NO_OPERATIONS: &str = "empty json patch operations";

pub const NO_TARGET_NAME: &str = "must specify the target name";

pub const OPERATIONS_AND_PATH: &str = "must specify a file path or jsonOp, not both";

pub const NO_OPERATIONS_NOR_PATH: &str = "empty file path and empty jsonOp";

pub const SCALAR_FOR_OBJECT: &str = "replace operation value must be object or array: %!w(<nil>)";

pub fn undecoded_operations(json: &str, error: &dyn Display) -> String {
    format!("decoding {json}: {error}")
}

pub fn unread_operations(is: &str, of: &str) -> String {
    format!("json: cannot unmarshal {is} into Go value of type jsonpatch.{of}")
}

pub fn unknown_operation(name: &str) -> String {
    format!("Unexpected kind: {name}")
}

pub fn operation_without_path(name: &str) -> String {
    format!("{name} operation failed to decode path: missing value")
}

pub fn operation_without_from(name: &str) -> String {
    format!("{name} operation failed to decode from: operation, missing from field: missing value")
}

pub fn unparsed_index(quoted: &str, why: &str) -> String {
    format!("strconv.Atoi: parsing {quoted}: {why}")
}

pub fn improper_index(index: &str, error: &str) -> String {
    format!("value was not a proper array index: '{index}': {error}")
}

pub fn invalid_index(index: i64) -> String {
    format!("Unable to access invalid index: {index}: invalid index referenced")
}

pub fn nothing_to_remove(key: &str) -> String {
    format!("Unable to remove nonexistent key: {key}: missing value")
}

pub fn no_place(name: &str, path: &str) -> String {
    format!("{name} operation does not apply: doc is missing path: {path}: missing value")
}

pub fn no_key(name: &str, path: &str) -> String {
    format!("{name} operation does not apply: doc is missing key: {path}: missing value")
}

pub fn no_origin(name: &str, path: &str) -> String {
    format!("{name} operation does not apply: doc is missing from path: {path}: missing value")
}

pub fn no_destination(name: &str, path: &str) -> String {
    format!(
        "{name} operation does not apply: doc is missing destination path: {path}: missing value"
    )
}

pub fn nothing_to_test(path: &str) -> String {
    format!("test operation does not apply: is missing path: {path}: missing value")
}

pub fn failed_test(path: &str) -> String {
    format!("testing value {path} failed: test failed")
}

pub fn failed_operation(name: &str, path: &str, error: &str) -> String {
    format!("error in {name} for path: '{path}': {error}")
}

pub fn nothing_to_copy(from: &str, error: &str) -> String {
    format!("error in copy for from: '{from}': {error}")
}

pub fn failed_copy(error: &str) -> String {
    format!("error while adding value during copy: {error}")
}

pub fn too_many_directories(most: usize) -> String {
    format!("the kustomization builds more than {most} directories")
}

pub fn too_deep(most: usize) -> String {
    format!("an object has more than {most} values within values")
}

pub fn copied_too_much(most: usize) -> String {
    format!("the copy operations of a JSON patch copy more than {most} bytes")
}

pub fn object_lacks(field: &str, object: &str) -> String {
    format!("missing {field} in object {object}")
}

pub fn namespace_conflict(kind: &str, name: &str) -> String {
    format!("namespace transformation produces ID conflict: more than one {kind} is called {name}")
}

pub fn in_reference(path: &str, of: &str) -> String {
    format!("updating name reference in '{path}' field of '{of}': ")
}

pub fn ambiguous_reference(ids: &str) -> String {
    format!("found multiple possible referrals: {ids}")
}

pub fn unsupported_kustomize_field(field: &str) -> String {
    format!(
        "the field {field} of kustomization.yaml is not built in, and neither kustomize nor kubectl is installed"
    )
}

pub fn outside_root(path: &str, root: &str) -> String {
    format!("security; file '{path}' is not in or below '{root}'")
}

pub const SCALAR_ON_THE_WAY: &str = "expected sequence or mapping node";

pub fn in_field(path: &str, id: &str) -> String {
    format!("considering field '{path}' of object {id}: ")
}

pub fn in_list(path: &str) -> String {
    format!("visit traversal on path: [{path}]: ")
}

pub fn no_replicas(name: &str) -> String {
    format!(
        "resource with name {name} does not match a config with the following GVK [Deployment.[noVer].[noGrp] StatefulSet.[noVer].[noGrp] ReplicaSet.[noVer].[noGrp] ReplicationController.[noVer].[noGrp]]"
    )
}

pub const NO_GENERATED_NAME: &str = "a configmap must have a name";

/// kustomize has an address of its memory here, too.
pub const IN_GENERATOR: &str = "merging from generator: ";

pub const IN_PAIRS: &str = "loading KV pairs: ";

pub fn in_envs(names: &str) -> String {
    format!("env source files: [{names}]: ")
}

pub fn in_literals(literals: &str) -> String {
    format!("literal sources [{literals}]: ")
}

pub fn in_files(names: &str) -> String {
    format!("file sources: [{names}]: ")
}

pub fn invalid_literal(literal: &str) -> String {
    format!("invalid literal source {literal}, expected key=value")
}

pub fn file_with_signs(source: &str) -> String {
    format!("source {source} key name or file path contains '='")
}

pub fn file_without_key(path: &str, source: &str) -> String {
    format!("missing key name for file path {path} in source {source}")
}

pub fn file_without_path(key: &str, source: &str) -> String {
    format!("missing file path for key name {key} in source {source}")
}

pub fn undecodable_line(bytes: &str, line: &str) -> String {
    format!("line [{bytes}] has invalid utf8 bytes : {line}")
}

pub fn repeated_key(name: &str, key: &str) -> String {
    format!("configmap {name} illegally repeats the key `{key}`")
}

pub fn nothing_to_merge(id: &str) -> String {
    format!("id {id} does not exist; cannot merge or replace")
}

pub fn already_there(id: &str, behavior: &str) -> String {
    format!("id {id} exists; can not use behavior: '{behavior}', behavior must be merge or replace")
}

pub fn several_to_merge(ids: &str, id: &str) -> String {
    format!("found multiple objects [{ids}] that could accept merge of {id}")
}

/// The identity of a generated object, whose kind has a namespace, as Go prints it.
pub fn generated_id(kind: &str, name: &str, namespace: &str) -> String {
    format!(
        "resid.ResId{{Gvk:resid.Gvk{{Group:\"\", Version:\"v1\", Kind:\"{kind}\", isClusterScoped:false}}, Name:{}, Namespace:{}}}",
        quote(name),
        quote(namespace)
    )
}

pub fn blank_namespace(id: &str) -> String {
    format!("Invalid Input: namespace is blank for resource \"{id}\"")
}

pub fn empty_patches(names: &str) -> String {
    format!("patch appears to be empty; files=[{names}], Patch=")
}

pub fn malformed_resource(name: &str, error: &dyn Display) -> String {
    format!(
        "accumulating resources: accumulating resources from '{name}': MalformedYAMLError: {error} in File: {name}"
    )
}
