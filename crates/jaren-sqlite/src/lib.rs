//! The SQLite storage of jaren: one file, group commit, durable when acknowledged.
