//! What the simulation itself must keep.

use jaren_durable_kit::faults::Fault;
use jaren_json::value;

use crate::causes::{Cause, Coverage};
use crate::history::{drawn, run};
use crate::link::Control;
use crate::many::{command, condemned};
use crate::matrix::{follows, matrix};
use crate::oracle::{Decision, End, read};
use crate::plan::{Form, Part};
use crate::world::{Setting, Trouble};

/// `cargo xtask sim --matrix` has two more.
const THREE_FAULTS: [Fault; 3] = [Fault::DiesBefore, Fault::DiesAfter, Fault::ReplyLost];

fn setting(seed: u64) -> Setting {
    Setting::default().drawn(drawn(seed))
}

#[test]
fn a_seed_is_a_history() {
    for seed in 1..=40 {
        let (one, other) = (run(seed, &setting(seed)), run(seed, &setting(seed)));
        assert_eq!(one.broken, None, "seed {seed}");
        assert_eq!((one.digest, one.steps), (other.digest, other.steps), "seed {seed}");
    }
}

#[test]
fn seeds_are_different_histories() {
    let mut digests: Vec<u64> = (1..=10).map(|seed| run(seed, &setting(seed)).digest).collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 10);
}

#[test]
fn each_control_is_condemned() {
    for control in Control::ALL {
        assert!(condemned(control, 1, 300).is_some(), "{control:?}");
    }
}

#[test]
fn the_crash_matrix_is_passed_and_takes_every_transition() {
    let matrix = matrix(&THREE_FAULTS, None);
    assert_eq!(matrix.broken, Vec::<String>::new());
    assert!(matrix.coverage.is_whole(), "{}", matrix.coverage.summary());
}

#[test]
fn a_subsequence_keeps_the_order_and_has_the_same_end() {
    let every: Vec<_> = (1..=4).map(|number| value!(number)).collect();
    let is_one =
        |found: &[i32]| follows(&found.iter().map(|number| value!(*number)).collect::<Vec<_>>(), &every);
    assert!(is_one(&[1, 2, 3, 4]) && is_one(&[2, 4]));
    assert!(!is_one(&[2, 1, 4]) && !is_one(&[1, 3]) && !is_one(&[]));
}

#[test]
fn a_matrix_without_a_guard_is_not_passed() {
    let matrix = matrix(&[Fault::DiesAfter], Some(Control::EarlyAcknowledgement));
    assert!(!matrix.broken.is_empty());
}

#[test]
fn coverage_names_what_is_missing_and_what_is_unknown() {
    let mut coverage = Coverage::default();
    coverage.count(Cause::Wait, Cause::Node);
    assert!(!coverage.is_whole());
    let summary = coverage.summary();
    assert!(summary.contains("missing: Claim → Admission"), "{summary}");
    assert!(summary.contains("unknown: Wait → Node"), "{summary}");
}

#[test]
fn the_second_reading_needs_to_be_told_how_waits_end() {
    let plan = [Part { id: 1, form: Form::Wait { other: false, after: None } }];
    let input = value!(1);
    let ended = |decisions: &[Decision]| read(&plan, &input, decisions, &|_| 0).1;
    assert_eq!(ended(&[]), End::Undecided);
    let event = value!({ "type": "go", "payload": { "n": 1, "q": 5 } });
    let taken = Decision { marker: "/states/h1-go".into(), event };
    assert!(matches!(ended(std::slice::from_ref(&taken)), End::Done(_)));
    let late = Decision { marker: "/states/h1-late".into(), ..taken };
    assert!(matches!(ended(&[late]), End::Impossible(_)));
}

#[test]
fn a_failure_is_replayed_by_one_command() {
    let setting = Setting {
        runs: Some(1),
        processes: Some(2),
        without: vec![Trouble::Clocks, Trouble::Events],
        ..Setting::default()
    };
    let expected =
        "cargo xtask sim --seed 7 --histories 1 --runs 1 --processes 2 --without clocks,events --trace";
    assert_eq!(command(7, &setting), expected);
}
