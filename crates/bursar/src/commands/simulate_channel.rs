//! `bursar simulate-channel`: a simulated payment provider with faults, over HTTP.

use std::net::SocketAddr;

use bursar_connect::Secret;
use bursar_connect::simulator::{Options, Profile, ServeOptions, Telling, serve};
use bursar_node::failure::Failure;
use bursar_node::signals::stop;
use bursar_node::terminal;
use clap::Args;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

/// Run a simulated payment provider with faults, over HTTP
///
/// It accepts `POST /transactions` and answers `GET /responses/{reference}` like a provider after the GSMA Mobile Money
/// API. `GET /_books` shows its own books, and `POST /_profile {"profile": "calm"}` changes its profile. Its behaviour
/// is deterministic in the seed and the references.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The address to listen on; port 0 picks a free port and prints it
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The seed of its behaviour
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// calm: pays and answers at once; flaky: occasional faults; hostile: every fault; silent: accepts and answers nothing
    #[arg(long, value_name = "calm|flaky|hostile|silent|wrong_amount", default_value_t = Profile::Hostile)]
    profile: Profile,
    /// The URL for callbacks [default: no callbacks]
    #[arg(long, value_name = "URL", requires = "callback_secret")]
    callback_url: Option<String>,
    /// The secret for signing callbacks: X-Signature is sha256= and the HMAC-SHA256 of the body
    #[arg(long, value_name = "SECRET", requires = "callback_url")]
    callback_secret: Option<String>,
    /// Pay a reference only once [default: every submission is paid]
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
        // Signal handlers are installed before the address is printed.
        let stopped = stop()?;
        terminal::say(&format!("listening on http://{address}"))?;
        serve(listener, ServeOptions { options, telling }, stopped).await;
        Ok(())
    }
}
