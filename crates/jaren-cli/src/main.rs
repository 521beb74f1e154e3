//! The program `jaren`.

fn main() {}
