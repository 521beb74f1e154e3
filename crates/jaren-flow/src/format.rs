//! Which of the formats a document is in.

use jaren_json::{Report, Value};

use crate::dag::Dag;
use crate::machine::Machine;
use crate::options::CompileOptions;
use crate::statechart::Statechart;
use crate::tasks::TaskVersions;
use crate::workflow::Workflow;

/// A format, as the marker of a document tells it.
///
/// ```
/// use jaren_flow::{CompileOptions, DeclaredTasks, Format};
/// use jaren_json::value;
///
/// let document = value!({ "$dag": "0.1", "nodes": {}, "edges": [] });
/// let format = Format::of(&document).unwrap();
/// assert_eq!(format.name(), "dag");
/// assert!(format.check(&document, &DeclaredTasks, &CompileOptions::new()).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A workflow, `$workflow`.
    Workflow,
    /// A dataflow, `$dag`.
    Dag,
    /// A statechart: an `$fsm` that is not "0.1".
    Statechart,
    /// A machine, `"$fsm": "0.1"`.
    Machine,
}

impl Format {
    /// The format of a document with a marker. Whether that is of a version that is known, the compilers say. A machine
    /// may do without, so that a document without a marker is a machine or none of these.
    pub fn of(document: &Value) -> Option<Self> {
        if document.get("$workflow").is_some() {
            return Some(Self::Workflow);
        }
        if document.get("$dag").is_some() {
            return Some(Self::Dag);
        }
        let version = document.get("$fsm")?;
        Some(if version.as_str() == Some("0.1") { Self::Machine } else { Self::Statechart })
    }

    /// What a document of it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::Dag => "dag",
            Self::Statechart => "statechart",
            Self::Machine => "machine",
        }
    }

    /// Compiles a document of it, for the report alone.
    pub fn check(
        self,
        document: &Value,
        tasks: &dyn TaskVersions,
        options: &CompileOptions,
    ) -> Result<(), Report> {
        match self {
            Self::Workflow => Workflow::compile_with(document, tasks, options).map(drop),
            Self::Dag => Dag::compile_with(document, tasks, options).map(drop),
            Self::Statechart => Statechart::compile_with(document, options).map(drop),
            Self::Machine => Machine::compile_with(document, options).map(drop),
        }
    }
}
