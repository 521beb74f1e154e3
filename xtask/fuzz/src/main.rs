//! The fuzzer's entry. `JAREN_FUZZ` names the target; one binary serves all, so that it is linked once.
#![no_main]

mod runs;
mod targets;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

static TARGET: OnceLock<fn(&[u8])> = OnceLock::new();

fuzz_target!(|input: &[u8]| {
    let target = TARGET.get_or_init(|| {
        let name = std::env::var("JAREN_FUZZ").unwrap_or_default();
        targets::named(&name).unwrap_or_else(|| panic!("JAREN_FUZZ names no target: {name}"))
    });
    target(input);
});
