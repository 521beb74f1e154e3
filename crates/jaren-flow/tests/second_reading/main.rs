//! Generated statecharts, stepped by the crate and by a second, slow, direct reading of the format's laws that shares
//! no code with it. Another seed: `JAREN_SEED=7 cargo test -p jaren-flow --test second_reading`.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod chart;
mod reading;

use std::num::NonZeroU64;

use jaren_flow::CompileOptions;
use jaren_flow::FlowError;
use jaren_flow::statechart::{Snapshot, Statechart, StepResult};
use jaren_json::{Value, value};

use crate::chart::{Draw, chart, event};
use crate::reading::{Broken, Done, Given, Now, Reading, Refused};

const CHARTS: u64 = 400;
const CALLS: usize = 20;
const MICROSTEPS_MAX: usize = 25;

/// What became of one chart.
#[derive(Debug, PartialEq)]
enum Outcome {
    /// So many calls changed something.
    Agreed(usize),
    /// By the format two states of one region are active: nothing to compare any further.
    Illegal,
    Differed(String),
}

/// One of the calls that a chart answers.
enum Call {
    Start,
    Step(&'static str),
    Advance { one: bool },
}

struct Both {
    chart: Statechart,
    reading: Reading,
    /// Where both stand.
    at: Option<(Snapshot, Now)>,
}

impl Both {
    fn call(&mut self, call: &Call, time: f64, payload: &Value, context: &Value) -> Result<bool, Outcome> {
        let ours = jaren_flow::Given { payload: Some(payload), context: Some(context) };
        let name = if let Call::Step(name) = call { Value::from(*name) } else { Value::Null };
        let given = Given { event: name, payload, context };
        let mut done = Done::default();
        let (ours, second) = match (call, &self.at) {
            (Call::Start, _) | (_, None) => {
                (self.chart.start(Some(time), &ours), self.reading.start(time, &given, &mut done))
            }
            (Call::Step(name), Some((snapshot, now))) => (
                self.chart.step(snapshot, name, Some(time), &ours),
                self.reading.step(now, time, &given, &mut done),
            ),
            (Call::Advance { one }, Some((snapshot, now))) => {
                let advance = if *one { Statechart::advance_one } else { Statechart::advance };
                let ours = advance(&self.chart, snapshot, time, &ours);
                (ours, self.reading.advance(now, time, *one, &given, &mut done))
            }
        };
        self.judge(ours, second, &done)
    }

    fn judge(
        &mut self,
        ours: Result<StepResult, FlowError>,
        second: Result<Now, Refused>,
        done: &Done,
    ) -> Result<bool, Outcome> {
        match (ours, second) {
            (Ok(ours), Ok(now)) => {
                let (one, other) = (without_messages(&ours.to_value()), self.reading.result(&now, done));
                if one != other {
                    return Err(Outcome::Differed(format!("ours   {one}\nsecond {other}")));
                }
                let restored = self.chart.restore(&ours.state.to_value());
                if restored.as_ref() != Ok(&ours.state) {
                    return Err(Outcome::Differed(format!("{one} is not restored")));
                }
                let changed = ours.changed;
                self.at = Some((ours.state, now));
                Ok(changed)
            }
            (Err(ours), Err(Refused::Endless)) if ours.code() == "JF2012" => Ok(false),
            (Ok(ours), Err(Refused::Illegal)) => {
                // Transitions that fired after it may have led out of it again.
                let went_on = ours.transitions.len() > done.fired();
                let refused = self.chart.restore(&ours.state.to_value());
                let is_refused = refused.is_err_and(|error| error.code() == "JF2010");
                Err(if went_on || is_refused {
                    Outcome::Illegal
                } else {
                    Outcome::Differed("a configuration that is not legal is restored".to_owned())
                })
            }
            (Err(ours), Err(Refused::Illegal)) if ours.code() == "JF2012" => Err(Outcome::Illegal),
            (ours, second) => Err(Outcome::Differed(format!("{ours:?}\n{second:?}"))),
        }
    }
}

/// The result as the reading writes it: an error's message is the crate's own.
fn without_messages(result: &Value) -> Value {
    let bare = |error: &Value| value!({ "code": (error.get("code").unwrap()), "docPath": (error.get("docPath").unwrap()) });
    let errors: Value = result.get("errors").unwrap().as_array().unwrap().iter().map(bare).collect();
    Value::Object(result.as_object().unwrap().with("errors", errors))
}

fn compare(seed: u64, broken: Option<Broken>) -> Outcome {
    let draw = &mut Draw(seed);
    let document = chart(draw);
    let options = CompileOptions::new().with_microsteps_max(NonZeroU64::new(MICROSTEPS_MAX as u64).unwrap());
    let chart = Statechart::compile_with(&document, &options)
        .unwrap_or_else(|report| panic!("{document}: {report:?}"));
    let mut both = Both { chart, reading: Reading::new(&document, MICROSTEPS_MAX, broken), at: None };
    let (mut time, mut changes) = (0.0, 0);
    for turn in 0..CALLS {
        time += f64::from(u32::try_from(draw.below(9)).unwrap());
        let call = match draw.below(6) {
            _ if turn == 0 => Call::Start,
            0 => Call::Advance { one: false },
            1 => Call::Advance { one: true },
            _ => Call::Step(event(draw)),
        };
        let payload = value!({ "yes": (draw.once_in(2)) });
        let context = value!({ "n": (u32::try_from(draw.below(4)).unwrap()) });
        match both.call(&call, time, &payload, &context) {
            Ok(is_change) => changes += usize::from(is_change),
            Err(Outcome::Differed(how)) => {
                return Outcome::Differed(format!("{document}\ncall {turn}\n{how}"));
            }
            Err(outcome) => return outcome,
        }
        // After one timer the time is that of its deadline; a chart that did not start cannot go on.
        match &both.at {
            Some((snapshot, _)) => time = time.max(snapshot.time()),
            None => break,
        }
    }
    Outcome::Agreed(changes)
}

fn first_seed() -> u64 {
    let set = std::env::var("JAREN_SEED").ok().and_then(|seed| seed.parse().ok());
    set.unwrap_or_else(|| {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        since.as_secs()
    })
}

#[test]
fn both_readings_agree() {
    let first = first_seed();
    let (mut changes, mut illegal) = (0, 0);
    for seed in first..first + CHARTS {
        match compare(seed, None) {
            Outcome::Agreed(count) => changes += count,
            Outcome::Illegal => illegal += 1,
            Outcome::Differed(how) => panic!("JAREN_SEED={seed}: {how}"),
        }
    }
    println!("JAREN_SEED={first}: {CHARTS} charts, {changes} calls that changed something, {illegal} traps");
    // Charts in which nothing happens would agree about anything.
    assert!(changes > 1000, "JAREN_SEED={first}: only {changes} calls changed something");
    assert!(illegal < 60, "JAREN_SEED={first}: {illegal} charts ended in the trap");
}

#[test]
fn a_reading_that_breaks_a_law_is_found_out() {
    let laws = [
        Broken::OuterFirst,
        Broken::LastInDocument,
        Broken::GuardsAgain,
        Broken::FirstWins,
        Broken::ParallelDomain,
        Broken::ExitOrder,
        Broken::DeepHistory,
        Broken::LateDelays,
        Broken::AnyRegion,
    ];
    for law in laws {
        let found = (0..CHARTS).find(|seed| matches!(compare(*seed, Some(law)), Outcome::Differed(_)));
        println!("{law:?} is found by chart {found:?}");
        assert!(found.is_some(), "no chart sees that {law:?}");
    }
}
