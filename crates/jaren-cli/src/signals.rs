//! Ctrl-C and SIGTERM: the first stops at a checkpoint, the second at once.

use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::progress::Progress;

/// How far the user wants a run stopped.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop {
    /// Cancelled by the first signal.
    pub(crate) at_checkpoint: CancellationToken,
    /// Cancelled by the second one.
    pub(crate) at_once: CancellationToken,
}

impl Stop {
    /// Listens for the signals until the runtime ends.
    pub(crate) fn listen(progress: Arc<Progress>) -> std::io::Result<Self> {
        let stop = Self::default();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let told = stop.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                if told.at_checkpoint.is_cancelled() {
                    told.at_once.cancel();
                    return;
                }
                told.at_checkpoint.cancel();
                let running = progress.running();
                if running.is_empty() {
                    progress.say("stopping");
                } else {
                    progress.say(&format!("stopping once {running} has ended; once more ends it now"));
                }
            }
        });
        Ok(stop)
    }
}
