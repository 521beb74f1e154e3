//! Runs of jaren as OpenTelemetry spans: one for each drive, below it one for each attempt at a task, and below that
//! whatever the handler opens.
//!
//! ```console
//! $ cargo run --manifest-path examples/opentelemetry/Cargo.toml
//! ```
#![forbid(unsafe_code)]


use jaren::prelude::*;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::{Instrument, Level, info_span};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // In a service: `with_batch_exporter(opentelemetry_otlp::SpanExporter::builder().with_http().build()?)`.
    let exporter = opentelemetry_stdout::SpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter).build();
    let ours = Targets::new().with_target("jaren::engine", Level::INFO).with_target("shop", Level::INFO);
    let spans = tracing_opentelemetry::layer().with_tracer(provider.tracer("orders")).with_filter(ours);
    tracing_subscriber::registry().with(spans).init();

    let mut tasks = Tasks::new();
    tasks.add("charge", "1", async |_: TaskContext, _: (), amount: f64| {
        let call = async { amount * 1.25 };
        Ok::<f64, Failure>(call.instrument(info_span!(target: "shop", "bank.charge")).await)
    });
    let engine = Engine::new(MemoryStorage::new(), tasks);
    let document = value!({
        "$workflow": "0.2", "revision": "order/1", "initial": "pay",
        "states": {
            "pay": { "work": { "task": "charge", "version": "1" }, "then": "done" },
            "done": { "final": true }
        }
    });
    let mut run = engine.start(Start::new(document, value!(20)).with_id("order-7")).await?;
    println!("{}", run.drive().await?);
    provider.shutdown()?;
    Ok(())
}
