//! List and get, the same for every resource of the API.

use bursar_connect::escape;
use bursar_node::client::ApiRequest;
use bursar_node::failure::Failure;
use bursar_node::report::Column;
use clap::Args;

use super::server::{Server, fields, list};

/// A resource of the API: the path of its collection, and the columns of its list.
#[derive(Debug)]
pub(super) struct Resource {
    pub(super) path: &'static str,
    pub(super) columns: &'static [Column],
}

impl Resource {
    /// Prints one page of the collection.
    pub(super) fn list(
        &self,
        server: &Server,
        arguments: &ListArgs<impl Filter>,
    ) -> Result<(), Failure> {
        server.print_response(&arguments.request(self.path), list(self.columns))
    }

    /// Prints one record.
    pub(super) fn get(&self, server: &Server, arguments: &GetArgs) -> Result<(), Failure> {
        server.print_response(&ApiRequest::get(self.path_of(arguments)), fields)
    }

    /// The path of one record.
    pub(super) fn path_of(&self, GetArgs { id }: &GetArgs) -> String {
        format!("{}/{}", self.path, escape(id))
    }

    /// The path of something below one record.
    pub(super) fn path_below(&self, arguments: &GetArgs, name: &str) -> String {
        format!("{}/{name}", self.path_of(arguments))
    }
}

/// Arguments that name one record.
#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// The id, as the list command prints it
    #[arg(value_name = "ID")]
    id: String,
}

/// Arguments of a list: the resource's filter, and the page.
#[derive(Debug, Args)]
pub(crate) struct ListArgs<F: Args = ()> {
    #[command(flatten)]
    pub(super) filter: F,
    /// Records per page, at most 500
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,
    /// Continue at this cursor, as printed with the previous page
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

impl<F: Filter> ListArgs<F> {
    /// The page of the filtered list.
    pub(super) fn request(&self, path: &str) -> ApiRequest {
        self.paged(self.filter.narrow(ApiRequest::get(path)))
    }

    /// The page of a list whose path stands for the filter.
    pub(super) fn page(&self, path: String) -> ApiRequest {
        self.paged(ApiRequest::get(path))
    }

    fn paged(&self, request: ApiRequest) -> ApiRequest {
        request.with("limit", Some(self.limit)).with("cursor", self.cursor.as_ref())
    }
}

/// Query parameters that narrow a list.
pub(crate) trait Filter: Args {
    fn narrow(&self, request: ApiRequest) -> ApiRequest;
}

impl Filter for () {
    fn narrow(&self, request: ApiRequest) -> ApiRequest {
        request
    }
}

#[derive(Debug, Args)]
pub(crate) struct MerchantFilter {
    /// Only records of this merchant
    #[arg(long, value_name = "ID")]
    pub(super) merchant: Option<String>,
}

impl Filter for MerchantFilter {
    fn narrow(&self, request: ApiRequest) -> ApiRequest {
        request.with("merchant_id", self.merchant.as_ref())
    }
}
