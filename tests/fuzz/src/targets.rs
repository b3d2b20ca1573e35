//! What reads the damaged input. A target may fail in any orderly way; it may not panic, hang or
//! take more memory than its budget.

use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use reeve_go_compat::{json, yaml};
use reeve_templates_engine::ambient::Fixed;
use reeve_templates_engine::budget::Budget;
use reeve_templates_engine::encryption::Encryption;
use reeve_templates_engine::language::{Delimiters, FunctionTable, parse};
use reeve_templates_engine::lint;
use reeve_templates_engine::lookup::Snapshot;
use reeve_templates_engine::resolver::{Config, EncryptionConfig, Input, Options, Resolver};

use crate::corpus::InputKind;
use crate::{authored, constraints, generator, placement, server};

/// One reader.
pub struct Target {
    /// Its name in reports.
    pub name: &'static str,
    pub(crate) input_kind: InputKind,
    pub(crate) run: fn(&[u8]),
}

/// All readers.
pub const TARGETS: &[Target] = &[
    Target {
        name: "parse",
        input_kind: InputKind::Templates,
        run: parse_template,
    },
    Target {
        name: "render",
        input_kind: InputKind::Templates,
        run: render,
    },
    Target {
        name: "render a document",
        input_kind: InputKind::Both,
        run: render_document,
    },
    Target {
        name: "read YAML",
        input_kind: InputKind::Documents,
        run: read_yaml,
    },
    Target {
        name: "decrypt",
        input_kind: InputKind::Both,
        run: decrypt,
    },
    Target {
        name: "lint",
        input_kind: InputKind::Both,
        run: lint_text,
    },
    Target {
        name: "lint a policy",
        input_kind: InputKind::Policies,
        run: lint_policy,
    },
    Target {
        name: "dry run a policy",
        input_kind: InputKind::Policies,
        run: dry_run,
    },
    Target {
        name: "serve a request",
        input_kind: InputKind::Requests,
        run: server::request,
    },
    Target {
        name: "serve a patch",
        input_kind: InputKind::Patches,
        run: server::patch,
    },
    Target {
        name: "serve a selection",
        input_kind: InputKind::Selectors,
        run: server::selector,
    },
    Target {
        name: "serve a page",
        input_kind: InputKind::Tokens,
        run: server::token,
    },
    Target {
        name: "serve Protobuf",
        input_kind: InputKind::Protobuf,
        run: server::binary,
    },
    Target {
        name: "define a kind",
        input_kind: InputKind::Definitions,
        run: server::definition,
    },
    Target {
        name: "hold to a rule",
        input_kind: InputKind::Rules,
        run: server::rule,
    },
    Target {
        name: "choose by an expression",
        input_kind: InputKind::Expressions,
        run: placement::expression,
    },
    Target {
        name: "choose by a placement",
        input_kind: InputKind::Placements,
        run: placement::placement,
    },
    Target {
        name: "read a suite",
        input_kind: InputKind::Suites,
        run: authored::suite,
    },
    Target {
        name: "read a fleet",
        input_kind: InputKind::Fleets,
        run: authored::fleet,
    },
    Target {
        name: "evaluate policies",
        input_kind: InputKind::Policies,
        run: authored::policies,
    },
    Target {
        name: "audit constraints",
        input_kind: InputKind::Constraints,
        run: constraints::audit,
    },
    Target {
        name: "generate policies",
        input_kind: InputKind::Generators,
        run: generator::generate,
    },
];

fn text(input: &[u8]) -> String {
    String::from_utf8_lossy(input).into_owned()
}

fn parse_template(input: &[u8]) {
    let _ = parse(
        "tmpl",
        text(input),
        Delimiters::default(),
        &FunctionTable::new(),
    );
}

/// Small limits: what counts is that they hold.
fn budget() -> Budget {
    Budget {
        steps: 20_000,
        bytes: 1_000_000,
        depth: 200,
        time: Duration::from_secs(2),
        ..Budget::default()
    }
}

/// Functions that are slow by nature, and one that asks the network.
fn denied() -> Vec<String> {
    [
        "bcrypt",
        "htpasswd",
        "derivePassword",
        "genPrivateKey",
        "genCA",
        "genSelfSignedCert",
        "genSignedCert",
        "genCAWithKey",
        "genSelfSignedCertWithKey",
        "genSignedCertWithKey",
        "getHostByName",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn resolve(input: Input<'_>) {
    let Ok(resolver) = Resolver::new(Config::default()) else {
        return;
    };
    let denied = denied();
    let options = Options {
        denied_functions: &denied,
        budget: budget(),
        encryption: Some(EncryptionConfig {
            key: &[7; 32],
            fallback_key: Some(&[9; 16]),
            initialization_vector: &[1; 16],
            encrypts: true,
            decrypts: true,
        }),
        ..Options::default()
    };
    let mut ambient = Fixed::new(Timestamp::UNIX_EPOCH, TimeZone::UTC, 1);
    let reads = Rc::new(Snapshot::new().complete());
    let _ = resolver.resolve(input, options, reads, &mut ambient);
}

fn render(input: &[u8]) {
    resolve(Input::Yaml(&text(input)));
}

/// The input as one field of a JSON document, so that it passes through the emitter first.
fn render_document(input: &[u8]) {
    let document = serde_json::json!({ "field": text(input), "list": [text(input)] });
    resolve(Input::Json(document.to_string().as_bytes()));
}

fn read_yaml(input: &[u8]) {
    if let Ok(value) = yaml::decode(input) {
        let _ = json::encode(&value, json::Escape::Html);
    }
    let _ = yaml::decode_sigs(input);
    let _ = json::decode(input);
}

fn decrypt(input: &[u8]) {
    let Ok(encryption) = Encryption::new(&[7; 32], Some(&[9; 16]), &[1; 16]) else {
        return;
    };
    let input = text(input);
    let _ = encryption.decrypt(&input);
    let token = encryption.protect(input.as_bytes());
    let cut = token.len() - input.len() % 7 % (token.len() + 1);
    let encoded = token.get(..cut).unwrap_or_default();
    let encoded = encoded.strip_prefix("$ocm_encrypted:").unwrap_or(encoded);
    let _ = encryption.decrypt(encoded);
}

fn lint_text(input: &[u8]) {
    let _ = lint::lint(&text(input));
}

/// What is mended must stay as it is when it is mended again.
fn lint_policy(input: &[u8]) {
    let (_, mended) = reeve_lint::lint_text(&text(input));
    let (_, again) = reeve_lint::lint_text(&mended);
    assert_eq!(mended, again, "mended twice");
}

/// The policy against itself and a few objects, so that some of its objects exist.
fn dry_run(input: &[u8]) {
    let policy = text(input);
    let namespace =
        "\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: prod, labels: {a: b}}}\n";
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else {
        return;
    };
    let _ = runtime.block_on(reeve_dryrun::dry_run(
        &policy,
        &[policy.as_str(), namespace].concat(),
    ));
    let _ = runtime.block_on(reeve_dryrun::dry_run(&policy, namespace));
}
