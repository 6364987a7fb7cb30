//! `bursar simulate-channel`: a payment provider that misbehaves, over HTTP.

use std::net::SocketAddr;

use bursar_connect::Secret;
use bursar_connect::simulator::{Options, Profile, ServeOptions, Telling, serve};
use bursar_node::failure::Failure;
use bursar_node::signals::stop;
use bursar_node::terminal;
use clap::Args;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

/// A payment provider that misbehaves, over HTTP, with its own books
///
/// It takes `POST /transactions` and answers `GET /responses/{reference}` like a provider after the GSMA Mobile Money
/// API. `GET /_books` shows what it really paid, and `POST /_profile {"profile": "calm"}` changes how it behaves. The
/// same seed and references make it behave the same way again.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Where to listen; port 0 picks a free one and prints it
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// What its behaviour follows from
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// calm pays at once and says so; flaky is mostly fine; hostile does everything that providers do;
    /// silent takes nothing and answers nothing
    #[arg(long, value_name = "calm|flaky|hostile|silent", default_value_t = Profile::Hostile)]
    profile: Profile,
    /// Where to send callbacks; none are sent without it
    #[arg(long, value_name = "URL", requires = "callback_secret")]
    callback_url: Option<String>,
    /// What callbacks are signed with: X-Signature is sha256= and the HMAC-SHA256 of the body
    #[arg(long, value_name = "SECRET", requires = "callback_url")]
    callback_secret: Option<String>,
    /// Pay a reference once, however often it is submitted; without this every submission is paid again
    #[arg(long)]
    idempotent: bool,
}

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let runtime = Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::new(format!("cannot start: {error}")))?;
        runtime.block_on(self.serve())
    }

    async fn serve(self) -> Result<(), Failure> {
        let Self { listen, seed, profile, callback_url, callback_secret, idempotent } = self;
        let telling = callback_url.zip(callback_secret);
        let telling = telling
            .map(|(url, secret)| Telling::new(&url, Secret::new(secret)))
            .transpose()
            .map_err(|error| Failure::new(error.to_string()))?;
        let options = Options { seed, profile, is_idempotent: idempotent };
        let cannot = |error| {
            Failure::new(format!("cannot listen on {listen}: {error}. Choose another address"))
        };
        let listener = TcpListener::bind(listen).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        // Asked for before anybody can know that it is there to be stopped.
        let stopped = stop()?;
        terminal::say(&format!("listening on http://{address}"))?;
        serve(listener, ServeOptions { options, telling }, stopped).await;
        Ok(())
    }
}
