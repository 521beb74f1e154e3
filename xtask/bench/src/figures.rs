//! What a bench measured and how it is printed.

use std::time::Duration;

use crate::Load;

/// Times of one run of the bench.
pub(crate) struct Figures {
    wall: Duration,
    cpu: Duration,
    steps: Vec<Duration>,
    workflows: Vec<Duration>,
}

impl Figures {
    pub(crate) fn new(
        wall: Duration,
        cpu: Duration,
        mut steps: Vec<Duration>,
        mut workflows: Vec<Duration>,
    ) -> Self {
        steps.sort_unstable();
        workflows.sort_unstable();
        Self { wall, cpu, steps, workflows }
    }

    /// One JSON line with the peers' keys, and what a step costs of CPU.
    #[expect(clippy::cast_precision_loss, reason = "counts of a bench are far below 2^53")]
    pub(crate) fn line(&self, peer: &str, load: Load) -> String {
        let Load { workflows: n, steps: k, at_once: c } = load;
        let (wall, steps) = (self.wall.as_secs_f64(), (n * k) as f64);
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let step = |part| micros(quantile(&self.steps, part));
        let workflow = |part| micros(quantile(&self.workflows, part)) / 1e3;
        format!(
            "{{\"peer\":\"{peer}\",\"n\":{n},\"k\":{k},\"c\":{c},\"wall_s\":{wall:.2},\"steps_per_s\":{:.0},\
             \"wf_per_s\":{:.1},\"step_p50_us\":{:.0},\"step_p99_us\":{:.0},\"wf_p50_ms\":{:.2},\"wf_p99_ms\":{:.2},\
             \"cpu_us_per_step\":{:.1}}}",
            steps / wall,
            n as f64 / wall,
            step(50),
            step(99),
            workflow(50),
            workflow(99),
            micros(self.cpu) / steps,
        )
    }
}

/// The value below which so many hundredths lie; zero where nothing was measured.
fn quantile(sorted: &[Duration], hundredths: usize) -> Duration {
    let index = sorted.len().saturating_sub(1) * hundredths / 100;
    sorted.get(index).copied().unwrap_or_default()
}

/// The CPU time of this process, of all its threads.
pub(crate) fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}
