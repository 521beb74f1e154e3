//! What a compiled query depends on, for whoever vets queries that others wrote (section 8.12).

use jaren_json::{Str, Value, value};

/// What a compiled query needs; each list in order and without repetition, save for the external parameters, which are in
/// the order of their first appearance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dependencies {
    /// The external parameters that it reads.
    pub externals: Vec<String>,
    /// The operators that it uses, the host's own among them.
    pub operators: Vec<String>,
    /// The registered functions that it calls.
    pub functions: Vec<String>,
    /// The registered collations by which it orders.
    pub collations: Vec<String>,
}

impl Dependencies {
    /// The same as an object of lists.
    pub fn to_value(&self) -> Value {
        let list = |names: &[String]| names.iter().map(String::as_str).collect::<Value>();
        value!({
            "externals": (list(&self.externals)),
            "operators": (list(&self.operators)),
            "functions": (list(&self.functions)),
            "collations": (list(&self.collations))
        })
    }

    /// Sorts what was noted while compiling.
    pub(crate) fn finish(mut self, externals: &[Str]) -> Self {
        for names in [&mut self.operators, &mut self.functions, &mut self.collations] {
            names.sort_unstable();
            names.dedup();
        }
        self.externals = externals.iter().map(ToString::to_string).collect();
        self
    }
}
