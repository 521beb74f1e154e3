//! A stylesheet after compilation.

use jaren_json::{Pointer, Str};
use jaren_query::extension::ExtendedQuery;
use jaren_query::{JsonPath, Limits, SchemaTest};

use crate::document::Unmatched;

/// The index of a mode in [`Sheet::modes`].
pub(crate) type ModeId = usize;
/// The mode in which a transform begins.
pub(crate) const UNNAMED: ModeId = 0;

#[derive(Debug)]
pub(crate) struct Sheet {
    pub(crate) rules: Vec<Rule>,
    /// The unnamed mode first.
    pub(crate) modes: Vec<Mode>,
    /// The different paths of all rules, which know theirs by the index.
    pub(crate) paths: Vec<JsonPath>,
    /// The names that a caller may bind, in the order of their first appearance.
    pub(crate) parameters: Vec<Str>,
    pub(crate) depth_max: usize,
    pub(crate) dispatches_max: u64,
    /// What a transform may spend in all.
    pub(crate) limits: Limits,
}

/// One rule.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) place: Pointer,
    /// The index of the path that it matches by.
    pub(crate) path: Option<usize>,
    /// The schema that it matches by.
    pub(crate) test: Option<SchemaTest>,
    pub(crate) body: ExtendedQuery,
    /// Whether the body reads `$path`.
    pub(crate) reads_path: bool,
}

/// One mode.
#[derive(Debug)]
pub(crate) struct Mode {
    pub(crate) name: Str,
    pub(crate) unmatched: Unmatched,
    /// Its rules, the highest rank first.
    pub(crate) rules: Vec<usize>,
    /// The paths of its rules, as a set of bits.
    pub(crate) paths: Box<[u64]>,
    /// Whether every rule asks for a path and what matches none is shared: then nothing happens to a value unless one of
    /// the paths leads to it or below it.
    pub(crate) positional: bool,
}
