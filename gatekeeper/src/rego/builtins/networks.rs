//! Functions of networks that the engine lacks.

use std::net::IpAddr;

use regorus::Value;
use regorus::value::Set;

use super::call;

fn contains(network: &Value, other: &Value) -> bool {
    let result = call("net.cidr_contains", &[network.clone(), other.clone()]);
    result.is_ok_and(|value| value == Value::from(true))
}

/// All addresses of a network.
pub fn expand(args: &[Value]) -> anyhow::Result<Value> {
    let Some(Value::String(network)) = args.first() else {
        return Ok(Value::Undefined);
    };
    let addresses = Range::parse(network).map_or(0, |range| range.last - range.first);
    super::charge(
        usize::try_from(addresses)
            .unwrap_or(usize::MAX)
            .saturating_mul(64),
    )?;
    Ok(match call("net.cidr_expand", args)? {
        Value::Array(list) => list.iter().cloned().collect::<Set>().into(),
        other => other,
    })
}

pub fn intersects(args: &[Value]) -> anyhow::Result<Value> {
    let (Some(left), Some(right)) = (args.first(), args.get(1)) else {
        return Ok(Value::Undefined);
    };
    let forth = call("net.cidr_contains", &[left.clone(), right.clone()])?;
    if forth == Value::from(true) {
        return Ok(forth);
    }
    call("net.cidr_contains", &[right.clone(), left.clone()])
}

/// The networks of a text, a list, a set or an object, with the index of each.
fn indexed(value: &Value) -> Option<Vec<(Value, Value)>> {
    // The network of an element that is a list is its first member.
    fn network(value: &Value) -> Value {
        match value {
            Value::Array(list) => list.iter().next().cloned().unwrap_or(Value::Undefined),
            other => other.clone(),
        }
    }
    match value {
        Value::String(_) => Some(vec![(value.clone(), value.clone())]),
        Value::Array(list) => Some(
            list.iter()
                .enumerate()
                .map(|(index, one)| (Value::from(index), network(one)))
                .collect(),
        ),
        Value::Set(set) => Some(
            set.iter_sorted()
                .map(|one| (one.clone(), network(one)))
                .collect(),
        ),
        Value::Object(object) => Some(
            object
                .iter_sorted()
                .map(|(key, one)| (key.clone(), network(one)))
                .collect(),
        ),
        _ => None,
    }
}

#[allow(clippy::unnecessary_wraps)] // the functions have one signature
pub fn contains_matches(args: &[Value]) -> anyhow::Result<Value> {
    let sides = args
        .first()
        .and_then(indexed)
        .zip(args.get(1).and_then(indexed));
    let Some((networks, others)) = sides else {
        return Ok(Value::Undefined);
    };
    let mut pairs = Set::new();
    for (index, network) in &networks {
        for (other_index, other) in &others {
            if contains(network, other) {
                pairs.insert(Value::from(vec![index.clone(), other_index.clone()]));
            }
        }
    }
    Ok(pairs.into())
}

/// A range of addresses of one family, from the first to the last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Range {
    is_v6: bool,
    first: u128,
    last: u128,
}

impl Range {
    fn parse(text: &str) -> Option<Self> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length.parse::<u32>().ok()?)),
            None => (text, None),
        };
        let (is_v6, bits, width) = match address.parse().ok()? {
            IpAddr::V4(address) => (false, u128::from(u32::from(address)), 32),
            IpAddr::V6(address) => (true, u128::from(address), 128),
        };
        let length = length.unwrap_or(width);
        let host = width.checked_sub(length)?;
        let mask = 1_u128.checked_shl(host).map_or(u128::MAX, |size| size - 1);
        Some(Self {
            is_v6,
            first: bits & !mask,
            last: bits | mask,
        })
    }

    /// The fewest networks that are the range.
    fn networks(self) -> Vec<String> {
        let width = if self.is_v6 { 128 } else { 32 };
        let mut all = Vec::new();
        let mut first = self.first;
        loop {
            let mut host = first.trailing_zeros().min(width);
            let end = |host: u32| {
                let size = 1_u128.checked_shl(host).map_or(u128::MAX, |size| size - 1);
                first.checked_add(size)
            };
            while end(host).is_none_or(|end| end > self.last) && host > 0 {
                host -= 1;
            }
            let address = if self.is_v6 {
                IpAddr::V6(first.into())
            } else {
                IpAddr::V4(u32::try_from(first).unwrap_or_default().into())
            };
            all.push(format!("{address}/{}", width - host));
            match end(host).and_then(|end| end.checked_add(1)) {
                Some(next) if next <= self.last => first = next,
                _ => return all,
            }
        }
    }
}

#[allow(clippy::unnecessary_wraps)] // the functions have one signature
pub fn merge(args: &[Value]) -> anyhow::Result<Value> {
    let members = match args.first() {
        Some(Value::Array(list)) => list.iter().cloned().collect::<Vec<_>>(),
        Some(Value::Set(set)) => set.iter().cloned().collect(),
        _ => return Ok(Value::Undefined),
    };
    let ranges = members.iter().map(|one| match one {
        Value::String(text) => Range::parse(text),
        _ => None,
    });
    let Some(mut ranges) = ranges.collect::<Option<Vec<Range>>>() else {
        return Ok(Value::Undefined);
    };
    ranges.sort();
    let mut merged: Vec<Range> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last)
                if last.is_v6 == range.is_v6 && range.first <= last.last.saturating_add(1) =>
            {
                last.last = last.last.max(range.last);
            }
            _ => merged.push(range),
        }
    }
    let networks = merged.into_iter().flat_map(Range::networks);
    let networks: Set = networks.map(Value::from).collect();
    Ok(networks.into())
}
