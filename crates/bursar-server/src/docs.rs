//! What the API is, for programs and for people: both made from the handlers themselves.

use axum::Json;
use axum::response::{Html, IntoResponse as _, Response};
use utoipa::openapi::OpenApi as Description;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::problem::Problem;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Bursar",
        description = "Payouts, pay-ins and their ledger. Amounts are decimal strings; errors are RFC 9457 problems with a stable code; whatever moves money takes an Idempotency-Key.",
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

pub(crate) fn json(document: &Description) -> Response {
    Json(document).into_response()
}

/// Every operation on one page.
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
