// A receiver of Bursar's webhooks, with Node.js alone: verifies, takes each event once, prints it.
//
//     BURSAR_WEBHOOK_SECRET=whsec_... node examples/receiver.js 9000
//
// While a secret is rotated, BURSAR_WEBHOOK_SECRET has both, with a space between them.

const { createHmac, timingSafeEqual } = require("node:crypto");
const { createServer } = require("node:http");

// As in docs/webhooks.md.
// The event's id, or an Error. Headers in lower case; body: a Buffer as it came; secrets: two while rotating.
function verify(headers, body, secrets, now = Date.now() / 1000) {
  const [id, sent, claims] = ["id", "timestamp", "signature"].map((name) => headers[`webhook-${name}`] ?? "");
  if (!/^\d+$/.test(sent) || Math.abs(now - Number(sent)) > 300) throw new Error("too old, or from the future");
  for (const secret of secrets) {
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    const mac = createHmac("sha256", key).update(`${id}.${sent}.`).update(body).digest();
    for (const claim of claims.split(" ").filter((claim) => claim.startsWith("v1,"))) {
      const given = Buffer.from(claim.slice(3), "base64");
      if (given.length === mac.length && timingSafeEqual(given, mac)) return id;
    }
  }
  throw new Error("no signature fits");
}

const secrets = (process.env.BURSAR_WEBHOOK_SECRET ?? "").split(" ").filter((secret) => secret !== "");
const [port, ...rest] = process.argv.slice(2);
if (secrets.length === 0 || port === undefined || rest.length > 0) {
  console.error("usage: BURSAR_WEBHOOK_SECRET=whsec_... node examples/receiver.js PORT");
  process.exit(1);
}
// In production: a unique key in the database, written in one transaction with the work.
const seen = new Set();

function receive(headers, body) {
  try {
    const id = verify(headers, body, secrets);
    const event = JSON.parse(body);
    if (!seen.has(id)) console.log(`verified: ${event.type} ${event.subject} ${id}`);
    seen.add(id);
    return 204;
  } catch (error) {
    console.log(`refused: ${error.message}`);
    return 401;
  }
}

const server = createServer((request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    if (request.method !== "POST") return response.end("ready\n");
    response.statusCode = receive(request.headers, Buffer.concat(pieces));
    response.end();
  });
});
server.listen(Number(port), "127.0.0.1", () => {
  console.log(`receiving on http://127.0.0.1:${server.address().port}`);
});
