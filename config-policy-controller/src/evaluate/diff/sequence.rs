//! Which lines of two texts belong together: the matching of Python's `difflib.SequenceMatcher`.
//!
//! Not the shortest diff but a readable one: the longest common run first, then the same on both sides of it.
//! Lines that are frequent in a long text are "popular" and never start a run.

use std::collections::HashMap;
use std::ops::Range;

/// From this many lines on frequent lines are popular.
const POPULAR_FROM: usize = 200;

/// Equal runs: `a[a_start..][..length] == b[b_start..][..length]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Run {
    pub a_start: usize,
    pub b_start: usize,
    pub length: usize,
}

/// What has to be done to a stretch of `a` to get the stretch of `b`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub a: Range<usize>,
    pub b: Range<usize>,
    pub equal: bool,
}

/// All edits that turn `a` into `b`, in order.
pub(super) fn edits(a: &[&str], b: &[&str]) -> Vec<Edit> {
    let (mut at_a, mut at_b) = (0, 0);
    let mut edits = Vec::new();
    for run in runs(a, b) {
        if at_a < run.a_start || at_b < run.b_start {
            edits.push(Edit {
                a: at_a..run.a_start,
                b: at_b..run.b_start,
                equal: false,
            });
        }
        (at_a, at_b) = (run.a_start + run.length, run.b_start + run.length);
        if run.length > 0 {
            edits.push(Edit {
                a: run.a_start..at_a,
                b: run.b_start..at_b,
                equal: true,
            });
        }
    }
    edits
}

/// The equal runs in order, neighbours joined, with an empty one at the end of both texts.
fn runs(a: &[&str], b: &[&str]) -> Vec<Run> {
    let index = index(b);
    let mut found = Vec::new();
    let mut waiting = vec![(0..a.len(), 0..b.len())];
    while let Some((in_a, in_b)) = waiting.pop() {
        let run = longest(a, b, &index, (&in_a, &in_b));
        if run.length == 0 {
            continue;
        }
        waiting.push((in_a.start..run.a_start, in_b.start..run.b_start));
        waiting.push((
            run.a_start + run.length..in_a.end,
            run.b_start + run.length..in_b.end,
        ));
        found.push(run);
    }
    found.sort_unstable();
    found.push(Run {
        a_start: a.len(),
        b_start: b.len(),
        length: 0,
    });
    let mut joined: Vec<Run> = Vec::with_capacity(found.len());
    for run in found {
        match joined.last_mut() {
            Some(last)
                if run.length > 0
                    && last.a_start + last.length == run.a_start
                    && last.b_start + last.length == run.b_start =>
            {
                last.length += run.length;
            }
            _ => joined.push(run),
        }
    }
    joined
}

/// Where each line stands in `b`, popular lines left out.
fn index<'t>(b: &[&'t str]) -> HashMap<&'t str, Vec<usize>> {
    let mut index: HashMap<&str, Vec<usize>> = HashMap::new();
    for (position, line) in b.iter().enumerate() {
        index.entry(line).or_default().push(position);
    }
    if b.len() >= POPULAR_FROM {
        let most = b.len() / 100 + 1;
        index.retain(|_, positions| positions.len() <= most);
    }
    index
}

/// The longest equal run within the two ranges; the first one in `a`, then in `b`, among equals.
fn longest(
    a: &[&str],
    b: &[&str],
    index: &HashMap<&str, Vec<usize>>,
    (in_a, in_b): (&Range<usize>, &Range<usize>),
) -> Run {
    let mut best = Run {
        a_start: in_a.start,
        b_start: in_b.start,
        length: 0,
    };
    // How long the run is that ends at a line of b, for the previous and the current line of a.
    let mut previous: HashMap<usize, usize> = HashMap::new();
    for (i, line) in a.iter().enumerate().take(in_a.end).skip(in_a.start) {
        let mut current = HashMap::new();
        let positions = index.get(line).map(Vec::as_slice).unwrap_or_default();
        for &j in positions.iter().filter(|j| in_b.contains(j)) {
            let length = j
                .checked_sub(1)
                .and_then(|j| previous.get(&j))
                .map_or(1, |n| n + 1);
            current.insert(j, length);
            if length > best.length {
                best = Run {
                    a_start: i + 1 - length,
                    b_start: j + 1 - length,
                    length,
                };
            }
        }
        previous = current;
    }
    extend(a, b, best, (in_a, in_b))
}

/// Popular lines start no run, but next to one they belong to it.
fn extend(
    a: &[&str],
    b: &[&str],
    mut run: Run,
    (in_a, in_b): (&Range<usize>, &Range<usize>),
) -> Run {
    while run.a_start > in_a.start
        && run.b_start > in_b.start
        && a.get(run.a_start - 1) == b.get(run.b_start - 1)
    {
        run = Run {
            a_start: run.a_start - 1,
            b_start: run.b_start - 1,
            length: run.length + 1,
        };
    }
    while run.a_start + run.length < in_a.end
        && run.b_start + run.length < in_b.end
        && a.get(run.a_start + run.length) == b.get(run.b_start + run.length)
    {
        run.length += 1;
    }
    run
}
