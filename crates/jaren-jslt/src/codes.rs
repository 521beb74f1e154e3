//! The codes of the format (section 10.2), and ours.

/// The stylesheet's shape: neither a list nor an envelope, a member missing, unknown or of another type.
pub(crate) const SHEET: &str = "JT0001";
/// A rule's shape.
pub(crate) const RULE: &str = "JT0002";
/// A match of another shape, or a path that is none.
pub(crate) const MATCH: &str = "JT0003";
/// An envelope of another version.
pub(crate) const VERSION: &str = "JT0004";
/// A schema that the host refuses.
pub(crate) const SCHEMA: &str = "JT0005";
/// A schema without anything that could test it.
pub(crate) const NO_SCHEMAS: &str = "JT0006";
/// A body that does not compile.
pub(crate) const BODY: &str = "JT0007";

/// Dispatches nested deeper than the guard allows.
pub(crate) const DEPTH: &str = "JT2001";
/// Several items for one member of an object.
pub(crate) const SEVERAL: &str = "JT2002";
/// A value that no rule matches where one must.
pub(crate) const UNMATCHED: &str = "JT2003";
/// A body that failed.
pub(crate) const FAILED: &str = "JT2004";

/// A value larger than `Limits::SIZE` of the queries, more dispatches than [`crate::CompileOptions::dispatches_max`], or more
/// steps or work than the limits allow; ours, the format has no such limits.
pub(crate) const LIMIT: &str = "JR2001";
