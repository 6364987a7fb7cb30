//! The server that a command calls: its address, the API key, and how responses are printed.

use std::convert::Infallible;

use bursar_connect::Secret;
use bursar_core::registry::hexadecimal;
use bursar_node::client::{ApiError, ApiRequest, ApiResponse, Client};
use bursar_node::failure::Failure;
use bursar_node::report::{Column, table_of, text};
use bursar_node::terminal::{self, printable};
use clap::Args;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

#[derive(Debug, Args)]
pub(crate) struct Server {
    /// The address of the server
    #[arg(
        long,
        global = true,
        help_heading = "Server",
        value_name = "URL",
        env = "BURSAR_URL",
        default_value = "http://127.0.0.1:8080"
    )]
    url: String,
    /// The API key; prefer the variable, because other users of this machine can see arguments
    #[arg(long, global = true, help_heading = "Server", value_name = "KEY", env = "BURSAR_KEY", hide_env_values = true, value_parser = secret)]
    key: Option<Secret>,
    /// Print the server's JSON instead of a table
    #[arg(long, global = true, help_heading = "Server")]
    pub(super) json: bool,
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of a clap parser")]
fn secret(text: &str) -> Result<Secret, Infallible> {
    Ok(Secret::new(text))
}

/// The key under which the server executes a request once.
#[derive(Debug, Args)]
pub(crate) struct IdempotencyArgs {
    /// The same key again is the same request [default: a fresh one]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

impl IdempotencyArgs {
    /// Prints the key before it is used, so that an interrupted command can be repeated with it.
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
    pub(super) fn client(&self) -> Result<Client, Failure> {
        Client::new(&self.url, self.key.as_ref())
    }

    pub(super) fn runtime() -> Result<Runtime, Failure> {
        Ok(Builder::new_current_thread().enable_all().build()?)
    }

    /// Sends a request and prints its response: the JSON as received, or a layout for a terminal.
    pub(super) fn print_response(
        &self,
        request: &ApiRequest,
        show: impl FnOnce(&Value) -> String,
    ) -> Result<(), Failure> {
        let response = Self::runtime()?.block_on(self.client()?.send(request));
        self.print(&response.map_err(ApiError::failure)?, show)
    }

    /// Prints a list: as many records as wanted, or all. A page that the server ends early, because its filter has no index,
    /// is continued.
    pub(super) fn print_list(
        &self,
        wanted: Option<u32>,
        columns: &'static [Column],
        page: impl Fn(Option<&str>) -> ApiRequest,
    ) -> Result<(), Failure> {
        let (runtime, client) = (Self::runtime()?, self.client()?);
        let wanted = wanted.map(|wanted| usize::try_from(wanted).unwrap_or(usize::MAX));
        let mut found: Vec<Value> = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let request = page(cursor.as_deref());
            let response = runtime.block_on(client.send(&request)).map_err(ApiError::failure)?;
            found.extend_from_slice(rows(&response.json, "data"));
            let part = |name: &str| response.json.get(name).and_then(Value::as_str);
            cursor = part("next_cursor").map(str::to_owned);
            if cursor.is_none() || wanted.is_some_and(|wanted| found.len() >= wanted) {
                break;
            }
            match part("scanned_to") {
                Some(place) => {
                    terminal::note(&format!("scanned to {place}, {} found", found.len()));
                }
                // A short page is the end of what was wanted.
                None if wanted.is_some() => break,
                None => {}
            }
        }
        let json = json!({ "data": found, "next_cursor": cursor });
        let response = ApiResponse { text: json.to_string(), json, is_replay: false };
        self.print(&response, list(columns))
    }

    /// Prints a statement: all of its pages as one.
    pub(super) fn print_pages(
        &self,
        show: impl FnOnce(&Value) -> String,
        page: impl Fn(Option<&str>) -> ApiRequest,
    ) -> Result<(), Failure> {
        let (runtime, client) = (Self::runtime()?, self.client()?);
        let (mut opening, mut lines): (Option<Value>, Vec<Value>) = (None, Vec::new());
        let mut cursor: Option<String> = None;
        loop {
            let request = page(cursor.as_deref());
            let response = runtime.block_on(client.send(&request)).map_err(ApiError::failure)?;
            let part = |name: &str| response.json.get(name).cloned().unwrap_or_default();
            opening.get_or_insert_with(|| part("opening"));
            lines.extend_from_slice(rows(&response.json, "rows"));
            cursor = part("next_cursor").as_str().map(str::to_owned);
            if cursor.is_none() {
                let json = json!({"opening": opening, "rows": lines, "closing": part("closing")});
                let response = ApiResponse { text: json.to_string(), json, is_replay: false };
                return self.print(&response, show);
            }
            terminal::note(&format!("{} movements read", lines.len()));
        }
    }

    /// The same for a request with an idempotency key.
    pub(super) fn print_response_once(
        &self,
        request: ApiRequest,
        once: IdempotencyArgs,
        show: impl FnOnce(&Value) -> String,
    ) -> Result<(), Failure> {
        let key = once.key()?;
        let response = Self::runtime()?.block_on(self.client()?.send(&request.keyed(&key)));
        let response = response.map_err(|error| match error {
            ApiError::Lost(why) => Failure::new(format!(
                "{why}. The request was sent and its outcome is unknown. The same key is safe to repeat: run the same command with --idempotency-key {key}, and it is done once"
            )),
            ApiError::Problem { status: 429 | 503, .. } => error
                .failure()
                .and(&format!("The same key is safe to repeat: --idempotency-key {key}")),
            ApiError::Problem { .. } | ApiError::NotSent(_) => error.failure(),
        })?;
        if response.is_replay {
            terminal::note("this was done before under the same key; nothing was done now");
        }
        self.print(&response, show)
    }

    fn print(
        &self,
        response: &ApiResponse,
        show: impl FnOnce(&Value) -> String,
    ) -> Result<(), Failure> {
        if self.json {
            return terminal::say(&response.text);
        }
        if let Some(approval) = response.json.get("approval_id").and_then(Value::as_str) {
            terminal::say(&fields(&response.json))?;
            terminal::note(&format!(
                "nothing was done yet: another person must approve it with `bursar approval approve {approval}`"
            ));
            return Ok(());
        }
        terminal::say(&show(&response.json))?;
        if let Some(cursor) = response.json.get("next_cursor").and_then(Value::as_str) {
            terminal::note(&format!("there may be more: --cursor {cursor}"));
        }
        Ok(())
    }
}

/// The rows of a list.
pub(super) fn rows<'v>(response: &'v Value, name: &str) -> &'v [Value] {
    response.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Lays out a list as a table.
pub(super) fn list(columns: &'static [Column]) -> impl FnOnce(&Value) -> String {
    move |response| table_of(columns, rows(response, "data"))
}

/// Lays out one record: a line for each of its fields, also of those of a field that has fields, such as `beneficiary`.
pub(super) fn fields(response: &Value) -> String {
    let Some(object) = response.as_object() else { return printable(&response.to_string()) };
    let mut rows = Vec::new();
    for (name, value) in object {
        match value.as_object() {
            Some(parts) => rows.extend(
                parts
                    .iter()
                    .map(|(part, value)| vec![printable(&format!("{name} {part}")), text(value)]),
            ),
            None => rows.push(vec![name.clone(), text(value)]),
        }
    }
    terminal::table(&["field", "value"], 2, rows).to_string()
}

/// A JSON object of the fields that have a value.
pub(super) fn given(fields: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Value {
    let given = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(given.collect())
}

/// Parses `NAME=VALUE`.
pub(super) fn pair(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
