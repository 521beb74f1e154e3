//! What a run says about each folder.

use std::collections::BTreeSet;

use crate::case::Case;
use crate::corpus::CorpusError;
use crate::expected::ExpectedFailures;
use crate::harness::Trial;
use crate::kind::Kind;

/// How many unexpected results are named when not all are.
const NAMED_MAX: usize = 20;

/// A folder's cases with what each answered.
pub(crate) struct Folder<'a> {
    pub(crate) kind: Kind,
    list: ExpectedFailures,
    trials: Vec<(&'a Case, Trial)>,
    /// Whether everything that there is ran, so that a listed name without a case is a mistake.
    complete: bool,
}

/// What a result means against the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Passed,
    Failed,
    ExpectedFailure,
    UnexpectedPass,
    Quirk,
}

impl<'a> Folder<'a> {
    pub(crate) fn new(
        kind: Kind,
        list: ExpectedFailures,
        trials: Vec<(&'a Case, Trial)>,
        complete: bool,
    ) -> Self {
        Self { kind, list, trials, complete }
    }

    fn standing(&self, case: &Case, trial: &Trial) -> Standing {
        match (trial, self.list.has(&case.name)) {
            // Nobody's answer is a crash.
            (Trial::Crashed(_), _) => Standing::Failed,
            _ if case.is_quirk() => Standing::Quirk,
            (Trial::Passed, false) => Standing::Passed,
            (Trial::Passed, true) => Standing::UnexpectedPass,
            (Trial::Failed(_), false) => Standing::Failed,
            (Trial::Failed(_), true) => Standing::ExpectedFailure,
        }
    }

    fn count(&self, standing: Standing) -> usize {
        self.trials.iter().filter(|(case, trial)| self.standing(case, trial) == standing).count()
    }

    /// Listed names that no case has.
    fn stale(&self) -> Vec<&str> {
        let names: BTreeSet<&str> = self.trials.iter().map(|(case, _)| &*case.name).collect();
        let stale =
            self.list.iter().map(String::as_str).filter(|name| self.complete && !names.contains(name));
        stale.collect()
    }

    pub(crate) fn as_expected(&self) -> bool {
        self.count(Standing::Failed) + self.count(Standing::UnexpectedPass) + self.stale().len() == 0
    }

    /// The folder's line, and below it what was not expected.
    pub(crate) fn print(&self, all: bool) {
        println!(
            "{}: {} passed, {} failed, {} expected failures, {} quirks",
            self.kind.label(),
            self.count(Standing::Passed) + self.count(Standing::UnexpectedPass),
            self.count(Standing::Failed),
            self.count(Standing::ExpectedFailure),
            self.count(Standing::Quirk),
        );
        let mut lines = Vec::new();
        for (case, trial) in &self.trials {
            match self.standing(case, trial) {
                Standing::Failed => lines.push(format!("failed: {}: {}", case.name, trial.difference())),
                Standing::UnexpectedPass => {
                    lines.push(format!(
                        "passes and is listed as an expected failure (--bless): {}",
                        case.name
                    ));
                }
                Standing::Passed | Standing::ExpectedFailure | Standing::Quirk => {}
            }
        }
        lines.extend(self.stale().iter().map(|name| format!("listed and no case (--bless): {name}")));
        let shown = if all { lines.len() } else { NAMED_MAX };
        for line in lines.iter().take(shown) {
            println!("  {line}");
        }
        if lines.len() > shown {
            println!("  … and {} more; --all names them", lines.len() - shown);
        }
    }

    /// What each case answered, whatever was expected.
    pub(crate) fn print_each(&self) {
        for (case, trial) in &self.trials {
            let standing = match self.standing(case, trial) {
                Standing::Passed => "passed",
                Standing::Failed => "failed",
                Standing::ExpectedFailure => "expected failure",
                Standing::UnexpectedPass => "unexpected pass",
                Standing::Quirk => "quirk",
            };
            println!("  {standing}: {}: {}", case.name, trial.difference());
        }
    }

    pub(crate) fn bless(&self) -> Result<(), CorpusError> {
        let names = |wanted: &dyn Fn(&Case, &Trial) -> bool| {
            let cases = self.trials.iter().filter(|(case, trial)| wanted(case, trial));
            cases.map(|(case, _)| &*case.name).collect::<BTreeSet<_>>()
        };
        let failed = names(&|case, trial| {
            matches!(self.standing(case, trial), Standing::Failed | Standing::ExpectedFailure)
        });
        self.list.bless(&failed, &names(&|_, _| true), self.complete)
    }
}
