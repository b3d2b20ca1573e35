//! Under what rights Pods and their containers run.

use super::field::{Errors, FieldValue, one_of, optional_name, within};
use super::shape::{self, Field};
use crate::names;

/// The rights of a container, as the server's own type has them.
const CONTEXT: [Field; 12] = [
    ("Capabilities", "capabilities"),
    ("Privileged", "privileged"),
    ("SELinuxOptions", "seLinuxOptions"),
    ("WindowsOptions", "windowsOptions"),
    ("RunAsUser", "runAsUser"),
    ("RunAsGroup", "runAsGroup"),
    ("RunAsNonRoot", "runAsNonRoot"),
    ("ReadOnlyRootFilesystem", "readOnlyRootFilesystem"),
    ("AllowPrivilegeEscalation", "allowPrivilegeEscalation"),
    ("ProcMount", "procMount"),
    ("SeccompProfile", "seccompProfile"),
    ("AppArmorProfile", "appArmorProfile"),
];

const LARGEST_ID: i64 = i32::MAX as i64;

/// Of a Pod's spec.
pub(super) fn pod(spec: &FieldValue<'_>, errors: &mut Errors) {
    let context = spec.get("securityContext");
    ids(&context, &["fsGroup", "runAsUser", "runAsGroup"], errors);
    for group in context.get("supplementalGroups").items() {
        within(&group, 0, LARGEST_ID, errors);
    }
    sysctls(&context.get("sysctls"), errors);
    one_of(
        &context.get("fsGroupChangePolicy"),
        &["Always", "OnRootMismatch"],
        errors,
    );
    one_of(
        &context.get("supplementalGroupsPolicy"),
        &["Merge", "Strict"],
        errors,
    );
    profiles(&context, errors);
    windows(&context.get("windowsOptions"), errors);
}

/// Of a container.
pub(super) fn container(context: &FieldValue<'_>, errors: &mut Errors) {
    ids(context, &["runAsUser", "runAsGroup"], errors);
    one_of(&context.get("procMount"), &["Default", "Unmasked"], errors);
    profiles(context, errors);
    let escalates = context.get("allowPrivilegeEscalation").value.as_bool();
    if escalates == Some(false) {
        let mut refuse = |what: &str| {
            let why = format!("cannot set `allowPrivilegeEscalation` to false and {what}");
            let shown = shape::whole(context.value, &CONTEXT);
            errors.push(shape::invalid(context, &shown, &why));
        };
        if context.get("privileged").is_true() {
            refuse("`privileged` to true");
        }
        let added = context.get("capabilities.add");
        if added.items().any(|one| one.text() == "CAP_SYS_ADMIN") {
            refuse("`capabilities.Add` CAP_SYS_ADMIN");
        }
    }
    windows(&context.get("windowsOptions"), errors);
}

fn ids(context: &FieldValue<'_>, fields: &[&str], errors: &mut Errors) {
    for field in fields {
        within(&context.get(field), 0, LARGEST_ID, errors);
    }
}

fn sysctls(all: &FieldValue<'_>, errors: &mut Errors) {
    let mut known: Vec<&str> = Vec::new();
    for one in all.items() {
        let name = one.get("name");
        let fits = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_./".contains(&byte)
        };
        if name.is_empty() {
            errors.push(name.required(""));
        } else if !name.text().bytes().all(fits) || name.text().len() > 253 {
            errors.push(name.invalid(
                "must have at most 253 characters and match regex \
                 ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$",
            ));
        } else if known.contains(&name.text()) {
            errors.push(name.duplicate());
        }
        known.push(name.text());
    }
}

fn profiles(context: &FieldValue<'_>, errors: &mut Errors) {
    for field in ["seccompProfile", "appArmorProfile"] {
        let profile = context.get(field);
        if profile.is_set() {
            self::profile(&profile, errors);
        }
    }
}

fn profile(profile: &FieldValue<'_>, errors: &mut Errors) {
    let (kind, local) = (profile.get("type"), profile.get("localhostProfile"));
    let known = ["Localhost", "RuntimeDefault", "Unconfined"];
    if kind.is_empty() {
        errors.push(kind.required("type is required"));
    } else if !known.contains(&kind.text()) {
        errors.push(kind.unsupported(&known));
    }
    match (kind.text(), local.is_set()) {
        ("Localhost", false) => {
            errors.push(local.required("must be set when seccomp type is Localhost"));
        }
        ("Localhost", true) => super::common::local_path(&local, errors),
        (_, true) => {
            let fields = [("Type", "type"), ("LocalhostProfile", "localhostProfile")];
            let shown = shape::whole(profile.value, &fields);
            let why = "can only be set when seccomp type is Localhost";
            errors.push(shape::invalid(&local, &shown, why));
        }
        _ => {}
    }
}

fn windows(options: &FieldValue<'_>, errors: &mut Errors) {
    optional_name(
        &options.get("gmsaCredentialSpecName"),
        names::subdomain,
        errors,
    );
    let user = options.get("runAsUserName");
    let name = user.text().rsplit('\\').next().unwrap_or_default();
    if name.contains([
        '"', '/', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@', '[', ']',
    ]) {
        errors.push(user.invalid(
            "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]",
        ));
    }
}
