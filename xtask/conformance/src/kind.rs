//! The kinds of cases and who runs each.

use crate::case::Case;
use crate::kinds;

/// What a folder of cases is about. Its name is the name of the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Canonical,
    Jcs,
    Query,
    Jsonpath,
    JsonpathCts,
    Jslt,
    Fsm,
    Statechart,
    Dag,
    Workflow,
}

/// Why a case did not pass, in a line.
pub(crate) type Outcome = Result<(), String>;

impl Kind {
    /// In the order in which they are reported.
    pub(crate) const ALL: [Self; 10] = [
        Self::Canonical,
        Self::Jcs,
        Self::Query,
        Self::Jsonpath,
        Self::JsonpathCts,
        Self::Jslt,
        Self::Fsm,
        Self::Statechart,
        Self::Dag,
        Self::Workflow,
    ];

    /// The folder's name, or the file's without its ending.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Canonical => "canonical",
            Self::Jcs => "jcs",
            Self::Query => "query",
            Self::Jsonpath => "jsonpath",
            Self::JsonpathCts => "jsonpath-cts",
            Self::Jslt => "jslt",
            Self::Fsm => "fsm",
            Self::Statechart => "statechart",
            Self::Dag => "dag",
            Self::Workflow => "workflow",
        }
    }

    /// The name as it is reported.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Jcs => "third-party/jcs",
            Self::JsonpathCts => "third-party/jsonpath-cts",
            other => other.name(),
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Runs one case.
    pub(crate) fn run(self, case: &Case) -> Outcome {
        match self {
            Self::Canonical | Self::Jcs => kinds::canonical::run(case),
            Self::Query => kinds::query::run(case),
            Self::Jsonpath => kinds::jsonpath::run(case),
            Self::JsonpathCts => kinds::jsonpath_cts::run(case),
            Self::Jslt => kinds::jslt::run(case),
            Self::Fsm => kinds::fsm::run(case),
            Self::Statechart => kinds::statechart::run(case),
            Self::Dag => kinds::dag::run(case),
            Self::Workflow => kinds::workflow::run(case),
        }
    }
}
