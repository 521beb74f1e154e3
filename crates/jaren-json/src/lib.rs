//! The value type of jaren: reader, canonical form, pointers, equality, digests and deltas.
