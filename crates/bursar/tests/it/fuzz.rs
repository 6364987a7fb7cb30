//! The inputs of `fuzz/corpus`, through the same functions that `cargo fuzz` calls; docs/proof.md says how to run it.

#[path = "../../../../fuzz/bodies/callbacks.rs"]
mod callbacks;
#[path = "../../../../fuzz/bodies/events.rs"]
mod events;
#[path = "../../../../fuzz/bodies/money.rs"]
mod money;
#[path = "../../../../fuzz/bodies/numscript.rs"]
mod numscript;

/// Runs each input of a corpus; a failure names the input.
fn run_through(name: &str, run: fn(&[u8])) {
    let folder = format!("{}/../../fuzz/corpus/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut inputs: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!(inputs.len() >= 24, "{folder} has only {} inputs", inputs.len());
    for input in inputs {
        println!("{}", input.display());
        run(&std::fs::read(&input).unwrap());
    }
}

#[test]
fn no_program_of_the_corpus_breaks_the_language() {
    run_through("numscript", numscript::run);
}

#[test]
fn no_callback_of_the_corpus_breaks_the_server() {
    run_through("callbacks", callbacks::run);
}

#[test]
fn no_amount_of_the_corpus_is_read_wrongly() {
    run_through("money", money::run);
}

#[test]
fn no_line_of_the_corpus_breaks_the_ledger() {
    run_through("events", events::run);
}
