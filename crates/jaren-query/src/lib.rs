//! The query language of jaren: JSON queries compiled once, evaluated over borrowed scopes.
