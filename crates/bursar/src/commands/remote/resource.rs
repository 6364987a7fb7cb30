//! List and get, the same for every resource of the API.

use bursar_connect::escape;
use bursar_node::client::ApiRequest;
use bursar_node::failure::Failure;
use bursar_node::report::Column;
use clap::Args;

use super::server::{Server, fields};

/// A resource of the API: the path of its collection, and the columns of its list.
#[derive(Debug)]
pub(super) struct Resource {
    pub(super) path: &'static str,
    pub(super) columns: &'static [Column],
}

impl Resource {
    /// Prints the matching records: as many as asked for, or all.
    pub(super) fn list(
        &self,
        server: &Server,
        arguments: &ListArgs<impl Filter>,
    ) -> Result<(), Failure> {
        let wanted = arguments.wanted();
        server.print_list(wanted, self.columns, |cursor| arguments.request(self.path, cursor))
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
    /// Records to print, at most 500 [default: 50]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Print all records
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// Continue at this cursor, as printed with the previous page
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// Records printed if the user says nothing.
const LIMIT: u32 = 50;
/// The largest page of the server.
const PAGE: u32 = 500;

impl<F: Filter> ListArgs<F> {
    /// The number of records to print; none for all.
    pub(super) fn wanted(&self) -> Option<u32> {
        let is_all = self.all || (self.limit.is_none() && self.filter.is_worklist());
        (!is_all).then(|| self.limit.unwrap_or(LIMIT))
    }

    /// The next page of the filtered list.
    pub(super) fn request(&self, path: &str, cursor: Option<&str>) -> ApiRequest {
        self.page(self.filter.narrow(ApiRequest::get(path)), cursor)
    }

    /// The next page of a list whose path stands for the filter.
    pub(super) fn page(&self, request: ApiRequest, cursor: Option<&str>) -> ApiRequest {
        let cursor = cursor.or(self.cursor.as_deref());
        request.with("limit", Some(self.wanted().unwrap_or(PAGE))).with("cursor", cursor)
    }
}

/// Query parameters that narrow a list.
pub(crate) trait Filter: Args {
    fn narrow(&self, request: ApiRequest) -> ApiRequest;

    /// Whether a person works through the list, so that all of it is printed unless a limit is given.
    fn is_worklist(&self) -> bool {
        false
    }
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
