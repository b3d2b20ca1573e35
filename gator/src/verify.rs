//! `gator verify`: runs suites.

use std::path::Path;
use std::time::Instant;

use reeve_gatekeeper::Json;
use reeve_gatekeeper::client::{Client, Options, Violation};
use reeve_gatekeeper::constraint::ConstraintError;
use reeve_gatekeeper::enforcement::EnforcementPoint;
use reeve_gatekeeper::expansion::{Expansion, ExpansionTemplate};
use reeve_gatekeeper::matching::Source;
use reeve_gatekeeper::review::Review;
use reeve_gatekeeper::template::ConstraintTemplate;
use reeve_go_compat::regexp::Regexp;

use crate::filter::Filter;
use crate::print::{self, CaseResult, SuiteResult, TestResult};
use crate::read::{self, Dialect};
use crate::suite::{self, Assertion, Case, Suite, Test, Violations};
use crate::{Outcome, engines, messages};

pub const EXAMPLES: &str = "Examples:
  reeve gator verify tests/suite.yaml                    one suite
  reeve gator verify tests/...                           those of a folder and of the folders in it
  reeve gator verify tests/... --run forbid-labels//     the tests whose name contains this
  reeve gator verify tests/... --run '//^nginx$' -v      the cases of this name, with each case printed

Exit codes: 0 all pass, 1 something failed.";

/// What is verified.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// A suite, a folder with suites, or FOLDER/... for those in the folders of it too.
    path: String,
    /// Run only the tests, or TEST//CASE, whose names this regular expression matches.
    #[arg(short, long, default_value = "", value_name = "REGEX")]
    run: String,
    /// Print each test and case.
    #[arg(short, long)]
    verbose: bool,
    /// Evaluate CEL where a template has it.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    enable_k8s_native_validation: bool,
}

pub fn run(args: &Args) -> Outcome {
    let suites = match suite::find(&args.path) {
        Ok(suites) => suites,
        Err(error) => return Outcome::failed(messages::listing(&error)),
    };
    let filter = match Filter::new(&args.run) {
        Ok(filter) => filter,
        Err(error) => return Outcome::failed(messages::compiling_filter(&error)),
    };
    let runner = Runner {
        filter,
        has_cel: args.enable_k8s_native_validation,
    };
    let results: Vec<SuiteResult> = suites.iter().map(|suite| runner.suite(suite)).collect();
    let is_failure = results.iter().any(SuiteResult::is_failure);
    let mut outcome = Outcome::of(print::suites(&results, args.verbose), is_failure);
    if is_failure {
        messages::SUITE_FAILED.clone_into(&mut outcome.error);
    }
    outcome
}

struct Runner {
    filter: Filter,
    has_cel: bool,
}

impl Runner {
    fn suite(&self, suite: &Suite) -> SuiteResult {
        let started = Instant::now();
        let tests = if suite.skip {
            Vec::new()
        } else {
            suite
                .tests
                .iter()
                .map(|test| self.test(suite, test))
                .collect()
        };
        SuiteResult {
            path: suite.shown_path.clone(),
            tests,
            time: started.elapsed(),
        }
    }

    fn test(&self, suite: &Suite, test: &Test) -> TestResult {
        let started = Instant::now();
        let cases = test.cases.iter().map(|case| case.name.clone());
        let mut result = TestResult {
            name: test.name.clone(),
            is_skipped: test.skip || !self.filter.matches_test(&test.name, cases),
            error: None,
            cases: Vec::new(),
            time: std::time::Duration::ZERO,
        };
        if result.is_skipped {
            return result;
        }
        let client = self.client(suite, test);
        result.error = match client.err() {
            Some(AddError::Schema(_)) if test.invalid => None,
            Some(AddError::Other(error)) if test.invalid => {
                Some(messages::valid_constraint(Some(&error)))
            }
            None if test.invalid => Some(messages::valid_constraint(None)),
            Some(AddError::Schema(error) | AddError::Other(error)) => Some(error),
            None => match expansion_of(suite, test) {
                Ok(expansion) => {
                    let run = |case: &Case| self.case(suite, test, &expansion, case);
                    result.cases = test.cases.iter().map(run).collect();
                    None
                }
                Err(error) => Some(error),
            },
        };
        result.time = started.elapsed();
        result
    }

    fn case(&self, suite: &Suite, test: &Test, expansion: &Expansion, case: &Case) -> CaseResult {
        let started = Instant::now();
        let is_skipped = case.skip || !self.filter.matches_case(&test.name, &case.name);
        let error = if is_skipped {
            None
        } else {
            self.check(suite, test, expansion, case).err()
        };
        CaseResult {
            name: case.name.clone(),
            is_skipped,
            error,
            time: started.elapsed(),
        }
    }

    fn check(
        &self,
        suite: &Suite,
        test: &Test,
        expansion: &Expansion,
        case: &Case,
    ) -> Result<(), String> {
        if case.object.is_empty() {
            return Err(messages::MISSING_OBJECT.to_owned());
        }
        if case.assertions.is_empty() {
            return Err(messages::NO_ASSERTIONS.to_owned());
        }
        let client = self.client(suite, test);
        let mut client = client.map_err(|error| match error {
            AddError::Schema(error) | AddError::Other(error) => error,
        })?;
        let path = suite.folder.join(&case.object);
        let objects = read_objects(&path)?;
        let [object] = objects.as_slice() else {
            return Err(messages::several_objects(&path, objects.len()));
        };
        for path in &case.inventory {
            for object in read_objects(&suite.folder.join(path))? {
                client.set_object(&object);
            }
        }
        let violations = review(&client, expansion, object)?;
        case.assertions
            .iter()
            .try_for_each(|assertion| assertion.check(&violations))
    }

    /// A client with the template and the constraint of a test.
    fn client(&self, suite: &Suite, test: &Test) -> Result<Client, AddError> {
        let mut client = reeve_constraint_worker::client(Options {
            external_data: suite.external_data.with(&test.external_data),
            ..engines(self.has_cel)
        });
        if test.template.is_empty() {
            return Err(AddError::Other(messages::MISSING_TEMPLATE.to_owned()));
        }
        let path = suite.folder.join(&test.template);
        let template = single(&path).map_err(AddError::Other)?;
        if !read::is_template(&template) {
            return Err(AddError::Other(messages::not_a_template(&path)));
        }
        ConstraintTemplate::parse(&template)
            .and_then(|template| client.add_template(template))
            .map_err(|error| AddError::Other(messages::adding_template(&error)))?;
        if test.constraint.is_empty() {
            return Err(AddError::Other(messages::MISSING_CONSTRAINT.to_owned()));
        }
        let path = suite.folder.join(&test.constraint);
        let constraint = single(&path).map_err(AddError::Other)?;
        if !read::is_constraint(&constraint) {
            return Err(AddError::Other(messages::not_a_constraint(&path)));
        }
        match client.add_constraint(&constraint) {
            Ok(_) => Ok(client),
            Err(ConstraintError::Schema(error)) => Err(AddError::Schema(error)),
            Err(error) => Err(AddError::Other(error.to_string())),
        }
    }
}

/// Why a test has no client.
enum AddError {
    /// The constraint violates its schema.
    Schema(String),
    Other(String),
}

fn single(path: &Path) -> Result<Json, String> {
    let objects = read_objects(path)?;
    objects
        .into_iter()
        .next()
        .ok_or_else(|| messages::no_objects(path))
}

fn read_objects(path: &Path) -> Result<Vec<Json>, String> {
    let objects = read::objects(path, Dialect::Suite)?;
    if objects.is_empty() {
        return Err(messages::no_objects(path));
    }
    Ok(objects)
}

fn expansion_of(suite: &Suite, test: &Test) -> Result<Expansion, String> {
    if test.expansion.is_empty() {
        return Ok(Expansion::default());
    }
    let objects = read_objects(&suite.folder.join(&test.expansion))?;
    let templates = objects.iter().filter(|one| read::is_expansion(one));
    let templates: Result<Vec<ExpansionTemplate>, _> =
        templates.map(ExpansionTemplate::parse).collect();
    Ok(Expansion::new(
        templates.map_err(|error| error.to_string())?,
    ))
}

/// The violations of an object and of what is made of it.
fn review(client: &Client, expansion: &Expansion, object: &Json) -> Result<Vec<Violation>, String> {
    let reviewing = |error| messages::reviewing(object, &error);
    let review = Review::of(object.clone()).map_err(reviewing)?;
    let is_request = review.is_admission();
    let review = review.with_source(Source::Original);
    let mut violations = client.review(&review, EnforcementPoint::Gator);
    if is_request {
        return Ok(violations);
    }
    let resultants = expansion.expand(object);
    let resultants = resultants.map_err(|error| messages::expanding(read::name(object), &error))?;
    for resultant in resultants {
        let review = Review::of_object(resultant.object.clone()).map_err(reviewing)?;
        let review = review.with_source(Source::Generated);
        let found = client.review(&review, EnforcementPoint::Gator);
        violations.extend(resultant.attribute(found));
    }
    let order = |one: &Violation| (one.enforcement_action.clone(), one.message.clone());
    violations.sort_by_cached_key(order);
    Ok(violations)
}

impl Assertion {
    fn check(&self, violations: &[Violation]) -> Result<(), String> {
        let pattern = self.message.as_ref().map(|message| {
            Regexp::compile(message.as_bytes()).map_err(|error| messages::invalid_regex(&error))
        });
        let pattern = pattern.transpose()?;
        let messages: Vec<String> = violations.iter().map(|one| one.message.clone()).collect();
        let matching = messages
            .iter()
            .filter(|message| {
                pattern
                    .as_ref()
                    .is_none_or(|pattern| pattern.is_match(message.as_bytes()))
            })
            .count();
        let (is_met, wanted) = match &self.violations {
            Violations::Number(number) => {
                let Ok(number) = usize::try_from(*number) else {
                    return Err(wrong_violations(&messages));
                };
                (matching == number, format!("exactly {number}"))
            }
            Violations::Word(word) if word == "yes" => (matching > 0, "at least 1".to_owned()),
            Violations::Word(word) if word == "no" => (matching == 0, "none".to_owned()),
            Violations::Word(_) => return Err(wrong_violations(&messages)),
        };
        if is_met {
            return Ok(());
        }
        let containing = self.message.as_deref();
        Err(messages::wrong_count(
            matching, containing, &wanted, &messages,
        ))
    }
}

fn wrong_violations(found: &[String]) -> String {
    format!(
        "{}: got messages [{}]",
        messages::WRONG_VIOLATIONS,
        found.join(" ")
    )
}
