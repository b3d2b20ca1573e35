//! The report of `gator verify`, as Go's tests are reported.

use std::fmt::Write as _;
use std::time::Duration;

pub struct SuiteResult {
    pub path: String,
    pub tests: Vec<TestResult>,
    pub time: Duration,
}

pub struct TestResult {
    pub name: String,
    pub is_skipped: bool,
    pub error: Option<String>,
    pub cases: Vec<CaseResult>,
    pub time: Duration,
}

pub struct CaseResult {
    pub name: String,
    pub is_skipped: bool,
    pub error: Option<String>,
    pub time: Duration,
}

impl SuiteResult {
    pub fn is_failure(&self) -> bool {
        self.tests.iter().any(TestResult::is_failure)
    }
}

impl TestResult {
    fn is_failure(&self) -> bool {
        self.error.is_some() || self.cases.iter().any(|case| case.error.is_some())
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.3}s", time.as_secs_f64())
}

/// The whole report. Writing to a string does not fail.
pub fn suites(suites: &[SuiteResult], verbose: bool) -> String {
    let mut text = String::new();
    for suite in suites {
        for test in &suite.tests {
            print_test(&mut text, test, verbose);
        }
        let verdict = if suite.is_failure() { "FAIL" } else { "ok" };
        let _ = writeln!(text, "{verdict}\t{}\t{}", suite.path, seconds(suite.time));
    }
    let is_failure = suites.iter().any(SuiteResult::is_failure);
    text.push_str(if is_failure { "FAIL\n\n" } else { "PASS\n\n" });
    text
}

fn print_test(report: &mut String, test: &TestResult, verbose: bool) {
    if verbose && test.is_skipped {
        let _ = writeln!(report, "=== SKIP  {}", test.name);
        return;
    }
    if verbose {
        let _ = writeln!(report, "=== RUN   {}", test.name);
    }
    for case in &test.cases {
        print_case(report, case, verbose);
    }
    if test.is_failure() {
        let _ = writeln!(report, "--- FAIL: {}\t({})", test.name, seconds(test.time));
        if let Some(error) = &test.error {
            let _ = writeln!(report, "  {error}");
        }
    } else if verbose {
        let _ = writeln!(report, "--- PASS: {}\t({})", test.name, seconds(test.time));
    }
}

fn print_case(report: &mut String, case: &CaseResult, verbose: bool) {
    if verbose && case.is_skipped {
        let _ = writeln!(report, "    === SKIP  {}", case.name);
        return;
    }
    if verbose {
        let _ = writeln!(report, "    === RUN   {}", case.name);
    }
    let time = seconds(case.time);
    if let Some(error) = &case.error {
        let _ = writeln!(
            report,
            "    --- FAIL: {}\t({time})\n        {error}",
            case.name
        );
    } else if verbose {
        let _ = writeln!(report, "    --- PASS: {}\t({time})", case.name);
    }
}
