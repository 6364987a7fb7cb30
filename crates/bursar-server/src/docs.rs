//! The `OpenAPI` document and the HTML page of operations, generated from the handlers.

use axum::Json;
use axum::http::{Method, StatusCode};
use axum::response::{Html, IntoResponse as _, Response};
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Content, OpenApi as Description, Ref, RefOr, ResponseBuilder};
use utoipa::{Modify, OpenApi};

use crate::access::{Access, AccessRow, access};
use crate::problem::{MEDIA_TYPE, Problem};

pub(crate) const ACCESS: &[AccessRow] = &[
    ("GET", "/openapi.json", Access::Open),
    ("GET", "/docs", Access::Open),
    ("GET", "/", Access::Open),
];

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Bursar",
        description = "Payouts, pay-ins and their ledger. Amounts are decimal strings; errors are RFC 9457 problems with a stable code; requests that move money take an Idempotency-Key.",
        license(name = "Apache-2.0")
    ),
    components(schemas(Problem)),
    modifiers(&Keys),
    security(("key" = []))
)]
pub(crate) struct Document;

struct Keys;

impl Modify for Keys {
    fn modify(&self, document: &mut Description) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        document.components.get_or_insert_default().add_security_scheme("key", scheme);
    }
}

/// Adds what all operations share: the operation id, the problem response, and the security requirement.
pub(crate) fn complete(document: &mut Description) {
    for (path, item) in &mut document.paths.paths {
        for (method, operation) in operations(item) {
            operation.operation_id = name(operation);
            let responses = &mut operation.responses.responses;
            for (status, response) in responses.iter_mut() {
                if let RefOr::T(response) = response {
                    describe(status, response);
                }
            }
            let content = Content::new(Some(Ref::from_schema_name("Problem")));
            let problem = ResponseBuilder::new()
                .description("Rejected, or not possible now")
                .content(MEDIA_TYPE, content)
                .build();
            responses.insert("default".to_owned(), problem.into());
            match access(&method, path) {
                Access::Open | Access::Signed => operation.security = Some(Vec::new()),
                Access::Roles(_) => {}
            }
        }
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (Method, &mut Operation)> {
    let operations = [
        (Method::GET, &mut item.get),
        (Method::POST, &mut item.post),
        (Method::PUT, &mut item.put),
        (Method::PATCH, &mut item.patch),
        (Method::DELETE, &mut item.delete),
    ];
    operations.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

/// Handler names are unique within their tag only, so the tag is part of the operation id.
fn name(operation: &Operation) -> Option<String> {
    let tag = operation.tags.as_ref()?.first()?.replace(' ', "_");
    Some(format!("{tag}_{}", operation.operation_id.as_ref()?))
}

fn describe(status: &str, response: &mut utoipa::openapi::Response) {
    let known = status.parse().ok().and_then(|status: StatusCode| status.canonical_reason());
    known.unwrap_or("Otherwise").clone_into(&mut response.description);
    let is_problem = |content: &RefOr<Content>| match content {
        RefOr::T(Content { schema: Some(RefOr::Ref(schema)), .. }) => {
            schema.ref_location.ends_with("/Problem")
        }
        RefOr::T(_) | RefOr::Ref(_) => false,
    };
    if let Some(content) = response.content.swap_remove("application/json") {
        let media_type = if is_problem(&content) { MEDIA_TYPE } else { "application/json" };
        response.content.insert(media_type.to_owned(), content);
    }
}

pub(crate) fn json(document: &Description) -> Response {
    Json(document).into_response()
}

/// All operations on one page.
pub(crate) fn page(document: &Description) -> Html<String> {
    let mut rows = Vec::new();
    for (path, item) in &document.paths.paths {
        let operations = [
            ("GET", &item.get),
            ("POST", &item.post),
            ("PUT", &item.put),
            ("PATCH", &item.patch),
            ("DELETE", &item.delete),
        ];
        for (method, operation) in operations {
            let Some(operation) = operation else { continue };
            let summary = operation.summary.as_deref().unwrap_or_default();
            let [method, path, summary] = [method, path.as_str(), summary].map(escaped);
            rows.push(format!(
                "<tr><td>{method}</td><td><code>{path}</code></td><td>{summary}</td></tr>"
            ));
        }
    }
    Html(format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Bursar API</title>\n\
         <style>body{{font:16px/1.5 system-ui;margin:2rem;color-scheme:light dark}}td{{padding:.2rem 1rem .2rem 0;vertical-align:top}}</style>\n\
         <h1>Bursar API</h1>\n\
         <p>Send <code>Authorization: Bearer &lt;key&gt;</code>. The whole description is at <a href=\"/openapi.json\">/openapi.json</a>.</p>\n\
         <table>\n{}</table>\n",
        rows.join("\n")
    ))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
