//! The commands that speak to a running server, one file for each resource.

pub(crate) mod audit;
pub(crate) mod beneficiary;
pub(crate) mod dispatch;
pub(crate) mod events;
pub(crate) mod key;
pub(crate) mod merchant;
pub(crate) mod payin;
pub(crate) mod payout;
pub(crate) mod webhook;

use std::convert::Infallible;

use bursar_connect::Secret;
use bursar_core::registry::hexadecimal;
use bursar_node::client::{Answer, Ask, Client, Trouble};
use bursar_node::failure::Failure;
use bursar_node::report::{Column, table_of, text};
use bursar_node::terminal::{self, printable};
use clap::Args;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

/// Where the server is, what opens it, and how answers are printed.
#[derive(Debug, Args)]
pub(crate) struct Server {
    /// Where Bursar answers
    #[arg(
        long,
        global = true,
        help_heading = "Server",
        value_name = "URL",
        env = "BURSAR_URL",
        default_value = "http://127.0.0.1:8080"
    )]
    url: String,
    /// The key that opens it; better in the variable, where other users of this machine do not see it
    #[arg(long, global = true, help_heading = "Server", value_name = "KEY", env = "BURSAR_KEY", hide_env_values = true, value_parser = secret)]
    key: Option<Secret>,
    /// Print the server's JSON instead of a table
    #[arg(long, global = true, help_heading = "Server")]
    json: bool,
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of a parser")]
fn secret(text: &str) -> Result<Secret, Infallible> {
    Ok(Secret::new(text))
}

/// The part of a list that is wanted.
#[derive(Debug, Args)]
pub(crate) struct Page {
    /// How many, at most 500
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,
    /// Where to go on, as the page before said
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

impl Page {
    fn of(&self, ask: Ask) -> Ask {
        ask.with("limit", Some(self.limit)).with("cursor", self.cursor.as_ref())
    }
}

/// The key under which a request is done once.
#[derive(Debug, Args)]
pub(crate) struct Once {
    /// The same key again is the same request [default: a fresh one]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

impl Once {
    /// Said before it is used: whoever is interrupted must still know it.
    fn key(self) -> Result<String, Failure> {
        let key = match self.idempotency_key {
            Some(key) => key,
            None => fresh_key()?,
        };
        terminal::note(&format!("idempotency key: {key}"));
        Ok(key)
    }
}

fn fresh_key() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::new(format!("this machine gives no randomness: {error}")))?;
    Ok(format!("cli-{}", hexadecimal(&bytes)))
}

impl Server {
    fn client(&self) -> Result<Client, Failure> {
        Client::new(&self.url, self.key.as_ref())
    }

    fn runtime() -> Result<Runtime, Failure> {
        Ok(Builder::new_current_thread().enable_all().build()?)
    }

    /// Asks and prints the answer: as it came, or laid out for people.
    fn tell(&self, ask: &Ask, show: impl FnOnce(&Value) -> String) -> Result<(), Failure> {
        let answer = Self::runtime()?.block_on(self.client()?.ask(ask));
        self.print(&answer.map_err(Trouble::failure)?, show)
    }

    /// The same for what is done once under a key.
    fn tell_once(
        &self,
        ask: Ask,
        once: Once,
        show: impl FnOnce(&Value) -> String,
    ) -> Result<(), Failure> {
        let key = once.key()?;
        let answer = Self::runtime()?.block_on(self.client()?.ask(&ask.keyed(&key)));
        let answer = answer.map_err(|trouble| match trouble {
            Trouble::Lost(why) => Failure::new(format!(
                "{why}. It was sent, and nobody knows whether it was done. The same key is safe to repeat: run the same command with --idempotency-key {key}, and it is done once"
            )),
            Trouble::Problem { status: 429 | 503, .. } => trouble
                .failure()
                .and(&format!("The same key is safe to repeat: --idempotency-key {key}")),
            Trouble::Problem { .. } | Trouble::NotSent(_) => trouble.failure(),
        })?;
        if answer.is_replay {
            terminal::note("this was done before under the same key; nothing was done now");
        }
        self.print(&answer, show)
    }

    fn print(&self, answer: &Answer, show: impl FnOnce(&Value) -> String) -> Result<(), Failure> {
        if self.json {
            return terminal::say(&answer.text);
        }
        terminal::say(&show(&answer.json))?;
        if let Some(cursor) = answer.json.get("next_cursor").and_then(Value::as_str) {
            terminal::note(&format!("there may be more: --cursor {cursor}"));
        }
        Ok(())
    }
}

/// The rows of a list.
fn rows<'v>(answer: &'v Value, name: &str) -> &'v [Value] {
    answer.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn list(columns: &'static [Column]) -> impl FnOnce(&Value) -> String {
    move |answer| table_of(columns, rows(answer, "data"))
}

/// One thing: a line for each of its fields.
fn fields(answer: &Value) -> String {
    let Some(object) = answer.as_object() else { return printable(&answer.to_string()) };
    let row = |(name, value): (&String, &Value)| vec![name.clone(), text(value)];
    terminal::table(&["field", "value"], 2, object.iter().map(row).collect()).to_string()
}

/// Only what was given.
fn given(fields: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Value {
    let given = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(given.collect())
}

fn pair(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
