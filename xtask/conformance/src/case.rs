//! One case.

use jaren_json::{Pointer, Value};

use crate::kind::{Kind, Outcome};

/// The members that are documents: read strictly, where everything else in a case is data.
pub(crate) const DOCUMENTS: [&str; 3] = ["document", "query", "stylesheet"];

/// A case as it stands in its file.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    /// All of it.
    pub(crate) body: Value,
    /// Where the strict reader refused the case's document, from that document's root.
    pub(crate) refused: Option<Pointer>,
}

impl Case {
    pub(crate) fn new(kind: Kind, body: Value) -> Option<Self> {
        let name = body.get("name")?.as_str()?.to_owned();
        Some(Self { kind, name, body, refused: None })
    }

    /// A member, where the case has it.
    pub(crate) fn get(&self, member: &str) -> Option<&Value> {
        self.body.get(member)
    }

    /// A member that every case of the kind has.
    pub(crate) fn need(&self, member: &str) -> Result<&Value, String> {
        self.get(member).ok_or_else(|| format!("the case has no member `{member}`"))
    }

    /// Whether a member is there and true.
    pub(crate) fn is(&self, member: &str) -> bool {
        self.get(member).and_then(Value::as_bool) == Some(true)
    }

    /// The outcome of a case whose document the strict reader refuses: right where an error is expected.
    pub(crate) fn refused_as_expected(&self) -> Outcome {
        match self.need("expect")?.get("error") {
            Some(_) => Ok(()),
            None => Err("the reader refuses the document".to_owned()),
        }
    }

    /// Whether the reference's answer is not what its own format says.
    pub(crate) fn is_quirk(&self) -> bool {
        self.get("quirk").is_some()
    }
}
