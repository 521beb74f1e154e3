//! What a host lends to jaren: clock, ids and randomness.
