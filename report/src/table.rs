//! The table of policies.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::count::Counts;
use crate::messages;
use crate::model::{Entry, Level, Report, Skip, State, natural};
use crate::style::{Color, Style};

/// The titles of the columns.
const TITLES: [&str; 4] = ["POLICY", "CLUSTER", "STATE", "WHY"];
/// The space between two columns.
const GAP: &str = "  ";
/// So many names of clusters are listed in a row; more are counted.
const NAMED: usize = 2;
/// The part of a terminal that WHY has at least, in percent, if it needs it: names of policies are cut before it.
const WHY_PERCENT: usize = 45;

/// A row: the same state for the same reason on clusters of one policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The policy.
    pub policy: String,
    /// The clusters: a name, some names, a count, `*` for all, `-` for none.
    pub cluster: String,
    /// The state.
    pub state: State,
    /// The reasons, the first of them in short if not wide.
    pub why: String,
}

/// What the entries of a row have in common: the state, the policy and the reasons.
type Group = (State, Vec<(String, u64)>, String);
type Groups<'a> = BTreeMap<Group, Vec<&'a Entry>>;

/// Which rows there are, and how much they say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What complies is left out if there is anything else; the first reason of each row.
    Summary,
    /// All rows; the first reason of each.
    Rows,
    /// All rows and all reasons.
    Full,
}

/// The rows of a report, the worst first.
pub fn rows(report: &Report, detail: Detail) -> Vec<Row> {
    let mut clusters: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups: Groups<'_> = BTreeMap::new();
    let only_compliant = report
        .entries
        .iter()
        .all(|entry| entry.state == State::Compliant);
    for entry in &report.entries {
        if !entry.place.is_empty() {
            *clusters.entry(&entry.subject).or_default() += 1;
        }
        if detail == Detail::Summary && entry.state == State::Compliant && !only_compliant {
            continue;
        }
        let why = if detail == Detail::Full {
            entry.all_reasons("; ")
        } else {
            entry.summary()
        };
        let key = (entry.state, natural(&entry.subject), why);
        groups.entry(key).or_default().push(entry);
    }
    let row = |((state, _, why), mut entries): (Group, Vec<&Entry>)| {
        entries.sort_by_key(|entry| natural(&entry.place));
        let policy = entries.first().map(|entry| entry.subject.clone());
        let policy = policy.unwrap_or_default();
        let all = clusters.get(policy.as_str()).copied().unwrap_or_default();
        Row {
            cluster: places(&entries, all),
            policy,
            state,
            why: one_line(&why),
        }
    };
    groups.into_iter().map(row).collect()
}

fn places(entries: &[&Entry], all: usize) -> String {
    let names: Vec<&str> = entries.iter().map(|entry| entry.place.as_str()).collect();
    match names.as_slice() {
        [] | [""] => "-".to_owned(),
        [one] => (*one).to_owned(),
        several if several.len() == all => "*".to_owned(),
        few if few.len() <= NAMED => few.join(","),
        many => messages::some_clusters(many.len(), all),
    }
}

/// Messages may have several lines.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// The table, and below it the counts.
pub(crate) fn print(report: &Report, wide: bool, style: Style) -> String {
    let mut text = preamble(report, style);
    let detail = if wide { Detail::Full } else { Detail::Summary };
    let rows = rows(report, detail);
    body(&mut text, &rows, style);
    let counts = Counts::of(report).words(report.subject);
    line(
        &mut text,
        &format!("{counts}   {:.1} s", report.seconds),
        style,
    );
    text
}

/// The titles and the rows.
pub fn body(text: &mut String, rows: &[Row], style: Style) {
    if rows.is_empty() {
        return;
    }
    let shown = match style.rows {
        // The last row says how many are not shown.
        Some(most) if rows.len() > most => most.saturating_sub(1),
        _ => rows.len(),
    };
    let widths = widths(rows, style.width);
    let head = TITLES.map(str::to_owned);
    line(
        text,
        &cells(&head, widths, State::Unknown, Style::default()),
        style,
    );
    for row in rows.iter().take(shown) {
        let all = [
            row.policy.clone(),
            row.cluster.clone(),
            row.state.word().to_owned(),
            row.why.clone(),
        ];
        let cells = cells(&all, widths, row.state, style);
        let _ = writeln!(text, "{cells}");
    }
    if shown < rows.len() {
        line(text, &messages::more_rows(rows.len() - shown), style);
    }
}

/// The widths of the columns before the last, and of the last.
fn widths(rows: &[Row], width: Option<usize>) -> [usize; 4] {
    let longest = |column: fn(&Row) -> &str, title: usize| {
        let cells = rows.iter().map(|row| column(row).chars().count());
        cells.max().unwrap_or_default().max(title)
    };
    let mut policy = longest(|row| &row.policy, 6);
    let mut cluster = longest(|row| &row.cluster, 7);
    let state = longest(|row| row.state.word(), 5);
    let Some(width) = width else {
        return [policy, cluster, state, usize::MAX];
    };
    let gaps = 3 * GAP.len();
    let why = longest(|row| &row.why, 3).min(width * WHY_PERCENT / 100);
    let rest = width.saturating_sub(state + gaps + why);
    if policy + cluster > rest {
        cluster = cluster.min((rest / 3).max(7));
        policy = policy.min(rest.saturating_sub(cluster).max(6));
    }
    let why = width.saturating_sub(policy + cluster + state + gaps);
    [policy, cluster, state, why]
}

fn cells(all: &[String; 4], widths: [usize; 4], state: State, style: Style) -> String {
    let mut text = String::new();
    for (index, (cell, width)) in all.iter().zip(widths).enumerate() {
        let cut = cut(cell, width);
        let pad = if index < 3 {
            width.saturating_sub(cut.chars().count())
        } else {
            0
        };
        let cut = match index {
            2 => colored(&cut, state, style.color),
            _ => cut,
        };
        let gap = if index < 3 { GAP } else { "" };
        let _ = write!(text, "{cut}{:pad$}{gap}", "");
    }
    text.trim_end().to_owned()
}

/// A text of at most so many characters. A cut one ends with an ellipsis.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(width.saturating_sub(1)).collect();
    if width > 0 {
        cut.push('…');
    }
    cut
}

/// A word in the colour of a state.
pub(crate) fn colored(word: &str, state: State, color: Color) -> String {
    if color == Color::Never {
        return word.to_owned();
    }
    let code = match state.level() {
        Some(Level::Error) => "31",
        Some(Level::Warning) => "33",
        Some(Level::Note) => "2",
        None => "32",
    };
    format!("\x1b[{code}m{word}\x1b[0m")
}

/// The notes and what was skipped, before any result.
pub(crate) fn preamble(report: &Report, style: Style) -> String {
    let mut text = String::new();
    for note in &report.notes {
        line(&mut text, &format!("! {note}"), style);
    }
    if let Some(skipped) = skipped(&report.skipped) {
        line(&mut text, &format!("! {skipped}"), style);
    }
    text
}

fn line(text: &mut String, whole: &str, style: Style) {
    let whole = cut(whole, style.width.unwrap_or(usize::MAX));
    let _ = writeln!(text, "{whole}");
}

/// The skipped files in one line. Many that were skipped for the same reason are counted.
pub fn skipped(all: &[Skip]) -> Option<String> {
    /// So many of a reason are named.
    const NAMED: usize = 3;
    if all.is_empty() {
        return None;
    }
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in all {
        by_reason.entry(&one.reason).or_default().push(&one.path);
    }
    let parts = by_reason.into_iter().map(|(reason, paths)| {
        if paths.len() > NAMED {
            return format!("{} ({reason})", messages::plural(paths.len(), "file"));
        }
        format!("{} ({reason})", paths.join(", "))
    });
    let parts: Vec<String> = parts.collect();
    Some(messages::skipped(all.len(), &parts.join(", ")))
}
