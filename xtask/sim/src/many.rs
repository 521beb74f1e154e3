//! Many histories, some at a time, each in one thread; and what a seed that fails really needs.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::causes::Coverage;
use crate::history::{Verdict, drawn, run};
use crate::judge::Broken;
use crate::link::Control;
use crate::world::{Setting, Trouble};

/// Which histories.
pub(crate) struct Many {
    pub(crate) seed: u64,
    /// So many; else as many as the time allows.
    pub(crate) histories: Option<u64>,
    pub(crate) until: Instant,
    pub(crate) jobs: usize,
    pub(crate) setting: Setting,
}

/// What they came to.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    histories: u64,
    steps: u64,
    coverage: Coverage,
    /// Equal for equal histories, whatever their order.
    pub(crate) digest: u64,
    took: Duration,
    log: String,
    /// The lowest seed that failed, what it broke, and in which setting.
    pub(crate) failed: Option<(u64, Broken, Setting)>,
}

impl Many {
    pub(crate) fn run(&self) -> Outcome {
        let start = Instant::now();
        let (next, whole) = (AtomicU64::new(0), Mutex::new(Outcome::default()));
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.max(1) {
                scope.spawn(|| self.work(&next, &whole));
            }
        });
        let mut whole = whole.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some((seed, broken, setting)) = whole.failed.take() {
            whole.failed = Some(smaller(seed, broken, setting));
        }
        whole.took = start.elapsed();
        whole
    }

    fn work(&self, next: &AtomicU64, whole: &Mutex<Outcome>) {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let over = match self.histories {
                Some(histories) => number >= histories,
                None => Instant::now() >= self.until,
            };
            if over {
                return;
            }
            let seed = self.seed.wrapping_add(number);
            let setting = self.setting.clone().drawn(drawn(seed));
            let verdict = run(seed, &setting);
            let mut whole = whole.lock().unwrap_or_else(PoisonError::into_inner);
            whole.add(seed, verdict, setting);
            if whole.failed.is_some() {
                next.store(u64::MAX / 2, Ordering::Relaxed);
            }
        }
    }
}

impl Outcome {
    fn add(&mut self, seed: u64, verdict: Verdict, setting: Setting) {
        self.histories += 1;
        self.steps += verdict.steps;
        self.coverage.add(&verdict.coverage);
        self.digest ^= verdict.digest.wrapping_mul(seed | 1);
        self.log.push_str(&verdict.log);
        if let Some(broken) = verdict.broken
            && self.failed.as_ref().is_none_or(|(lowest, ..)| seed < *lowest)
        {
            self.failed = Some((seed, broken, setting));
        }
    }

    /// Prints it. Answers whether all went well.
    pub(crate) fn tell(&self) -> bool {
        print!("{}", self.log);
        let seconds = self.took.as_secs_f64();
        println!(
            "sim: {} histories, {} steps in {seconds:.1} s, {:.0} histories a minute, digest {:016x}; {}",
            self.histories,
            self.steps,
            rate(self.histories, self.took),
            self.digest,
            self.coverage.summary(),
        );
        let Some((seed, broken, setting)) = &self.failed else { return true };
        println!("sim: seed {seed}: {broken}");
        println!("sim: replay it: {}", command(*seed, setting));
        false
    }
}

/// So many a minute.
fn rate(count: u64, took: Duration) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from) * 60.0 / took.as_secs_f64()
}

/// How many threads work at a time.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The command that replays a history, step by step.
pub(crate) fn command(seed: u64, setting: &Setting) -> String {
    let mut command = format!("cargo xtask sim --seed {seed} --histories 1");
    for (name, count) in [("runs", setting.runs), ("processes", setting.processes)] {
        if let Some(count) = count {
            let _ = write!(command, " --{name} {count}");
        }
    }
    if !setting.without.is_empty() {
        let names: Vec<String> = setting.without.iter().copied().map(Trouble::name).collect();
        let _ = write!(command, " --without {}", names.join(","));
    }
    command.push_str(" --trace");
    command
}

/// The same seed with less of everything, as long as it fails.
fn smaller(seed: u64, broken: Broken, setting: Setting) -> (u64, Broken, Setting) {
    let mut least = (seed, broken, setting);
    let try_out = |least: &mut (u64, Broken, Setting), change: &dyn Fn(&mut Setting)| {
        let mut setting = least.2.clone();
        change(&mut setting);
        if let Some(broken) = run(seed, &setting).broken {
            *least = (seed, broken, setting);
        }
    };
    for trouble in Trouble::ALL {
        if !least.2.without.contains(&trouble) {
            try_out(&mut least, &|setting| setting.without.push(trouble));
        }
    }
    for count in [2, 1] {
        try_out(&mut least, &|setting| setting.runs = setting.runs.map(|runs| runs.min(count)));
        try_out(&mut least, &|setting| setting.processes = setting.processes.map(|most| most.min(count)));
    }
    least
}

/// The first history that condemns a control, by its number, and what it broke.
pub(crate) fn condemned(control: Control, seed: u64, within: u64) -> Option<(u64, Broken)> {
    let setting = Setting { control: Some(control), ..Setting::default() };
    (1..=within).find_map(|number| {
        let seed = seed + number - 1;
        run(seed, &setting.clone().drawn(drawn(seed))).broken.map(|broken| (number, broken))
    })
}
