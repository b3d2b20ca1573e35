//! Host names and URLs.

use super::url::Url;
use crate::function::Parameter::{Dict, Str};
use crate::function::{Arguments, Env, Failure, Function};
use crate::functions::define::{Answer, Group, answer, charge_bytes, nil_pointer, takes};
use reeve_go_compat::value::{Map, Value};

const NET: Group = Group("Network and URLs");

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[
    NET.function("getHostByName", takes(&[Str]), get_host_by_name, "name", "An address of the host. The result may differ from one evaluation to the next."),
    NET.function("urlParse", takes(&[Str]), url_parse, "url", "A dictionary of the URL's `scheme`, `host`, `hostname`, `path`, `query`, `opaque`, `fragment` and `userinfo`."),
    NET.function("urlJoin", takes(&[Dict]), url_join, "dict", "The URL of such a dictionary; `hostname` does not count."),
];

fn get_host_by_name(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    env.meter.clock()?;
    let name = arguments.text(0)?;
    match env.ambient.host_address(&name) {
        Some(address) => answer(address),
        // Upstream chooses among no addresses.
        None => Err(Failure::text("invalid argument to Intn")),
    }
}

fn url_parse(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    charge_bytes(env, text.len().saturating_mul(3))?;
    let url = Url::parse(text)
        .map_err(|problem| Failure::text(format!("unable to parse url: {problem}")))?;
    let user = url.user.as_ref().map(super::url::User::to_bytes);
    let host_name = url.host_name().to_vec();
    Ok(Value::dict([
        ("scheme", Value::str(url.scheme)),
        ("host", Value::str(url.host)),
        ("hostname", Value::str(host_name)),
        ("path", Value::str(url.path)),
        ("query", Value::str(url.query)),
        ("opaque", Value::str(url.opaque)),
        ("fragment", Value::str(url.fragment)),
        ("userinfo", Value::str(user.unwrap_or_default())),
    ]))
}

fn text_under(dict: &Map, key: &str) -> Result<Vec<u8>, Failure> {
    match dict.get_str(key) {
        None => Ok(Vec::new()),
        Some(Value::Str(text)) => Ok(text.to_vec()),
        Some(Value::Nil | Value::Missing) => Err(nil_pointer()),
        Some(other) => Err(Failure::text(format!(
            "unable to parse {key} key, must be of type string, but {} found",
            other.kind()
        ))),
    }
}

fn url_join(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let dict = arguments.dict(0)?;
    let mut url = Url {
        scheme: text_under(dict, "scheme")?,
        host: text_under(dict, "host")?,
        path: text_under(dict, "path")?,
        query: text_under(dict, "query")?,
        opaque: text_under(dict, "opaque")?,
        fragment: text_under(dict, "fragment")?,
        user: None,
    };
    let user = text_under(dict, "userinfo")?;
    let parts = [
        &url.scheme,
        &url.host,
        &url.path,
        &url.query,
        &url.opaque,
        &url.fragment,
    ];
    let length: usize = parts.iter().map(|part| part.len()).sum();
    // An escape takes three bytes.
    charge_bytes(env, (length + user.len()).saturating_mul(3))?;
    if !user.is_empty() {
        let parsed = Url::parse(&[b"proto://", &*user, b"@host"].concat());
        url.user = parsed
            .map_err(|problem| {
                Failure::text(format!("unable to parse userinfo in dict: {problem}"))
            })?
            .user;
    }
    answer(url.to_bytes())
}
