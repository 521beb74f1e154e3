//! A command as a task handler: the JSON it is given, and what its end means for the run.

use std::sync::Arc;

use jaren::engine::{Failure, TaskContext, Tasks};
use jaren::json::{ReadOptions, Value, read, to_text, value};

use crate::exec::{CommandError, Ended, Runner};
use crate::output::integer;
use crate::signals::Stop;
use crate::tasks_file::{Binding, TasksFile};

/// The file's commands as task handlers.
pub(crate) fn tasks(file: &TasksFile, runner: &Arc<Runner>, stop: &Stop) -> Tasks {
    let mut tasks = Tasks::new();
    for (name, _, binding) in file.bindings.iter() {
        let binding = Arc::new(binding.clone());
        let (runner, stop, called) = (Arc::clone(runner), stop.clone(), Arc::clone(&binding));
        let handler = move |context: TaskContext, with: Value, input: Value| {
            let (runner, binding, stop) = (Arc::clone(&runner), Arc::clone(&called), stop.clone());
            async move { call(&runner, &binding, &stop, &context, &with, &input).await }
        };
        let task = tasks.add_value(name, &binding.version, handler);
        if let Some(policy) = &binding.retry {
            task.retry(policy.clone());
        }
    }
    tasks
}

async fn call(
    runner: &Runner,
    binding: &Binding,
    stop: &Stop,
    context: &TaskContext,
    with: &Value,
    input: &Value,
) -> Result<Value, Failure> {
    let request = value!({
        "task": &*context.task,
        "with": with,
        "input": input,
        "run": &*context.run,
        "state": &*context.state,
        "visit": integer(context.visit),
        "attempt": context.attempt,
        "key": &*context.key,
    });
    let request = to_text(&request)?;
    answer(runner.run(binding, request.as_bytes(), give_up(stop, context)).await)
}

/// Returns when the command should be ended: its answer is not wanted any more, or the user does not want to wait for it.
///
/// The first Ctrl-C lets a running command finish, so that its answer is stored and its work is not done twice.
async fn give_up(stop: &Stop, context: &TaskContext) {
    context.cancel.cancelled().await;
    if stop.at_checkpoint.is_cancelled() {
        stop.at_once.cancelled().await;
    }
}

/// What a command's end means.
fn answer(ended: Ended) -> Result<Value, Failure> {
    let output = match ended.result {
        Ok(output) => output,
        Err(error) => return Err(failure(code(&error), error.to_string(), &ended.stderr)),
    };
    if output.iter().all(u8::is_ascii_whitespace) {
        let message = "the command printed nothing: a task answers with one JSON value on standard output";
        return Err(failure("command-no-json", message.to_owned(), &ended.stderr));
    }
    read(&output, &ReadOptions::data()).map_err(|error| {
        let message = format!("the command printed no JSON: {error}");
        failure("command-no-json", message, &ended.stderr)
    })
}

fn code(error: &CommandError) -> &'static str {
    match error {
        CommandError::Start(_) | CommandError::Wait(_) => "command-start",
        CommandError::Status(_) => "command-status",
        CommandError::Timeout(_) => "command-timeout",
        CommandError::TooMuch(_) => "command-output-limit",
        CommandError::Stopped => "command-stopped",
    }
}

fn failure(code: &str, message: String, stderr: &str) -> Failure {
    let failure = Failure::new(message).with_code(code);
    if stderr.is_empty() { failure } else { failure.with_data(value!({ "stderr": stderr })) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> Result<Value, Failure> {
        answer(Ended { result: Ok(text.into()), stderr: "why".to_owned() })
    }

    #[test]
    fn one_json_value_is_the_answer() {
        assert_eq!(printed(" {\"a\": 1}\n").unwrap(), value!({"a": 1}));
        assert_eq!(printed("null").unwrap(), Value::Null);
    }

    #[test]
    fn anything_else_is_a_failure_that_keeps_standard_error() {
        for text in ["", " \n", "hello", "{} {}", "{\"a\":", "\u{feff}1"] {
            let failure = printed(text).unwrap_err();
            assert_eq!(failure.code.as_deref(), Some("command-no-json"), "{text}");
            assert_eq!(failure.data, value!({"stderr": "why"}));
        }
    }
}
