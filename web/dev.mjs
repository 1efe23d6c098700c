// Serves the page for development: bundles on every load, answers /v1 from the mock or passes it to a real server.
//   node dev.mjs --port 8100                          mock data
//   node dev.mjs --port 8100 --api http://127.0.0.1:7717   a real server
//   node dev.mjs --port 8100 --empty                  no model, the first-run page
import { context } from "esbuild";
import { readFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { join } from "node:path";
import { book, here, options, words, wordsApart } from "./bundle.mjs";
import { answer } from "./mock.mjs";

const flag = (name, fallback) => {
  const at = process.argv.indexOf(`--${name}`);
  return at > 0 ? process.argv[at + 1] : fallback;
};
const port = Number(flag("port", "8100"));
const api = flag("api", null);
const empty = process.argv.includes("--empty");
const bundler = await context({ ...options, ...wordsApart({ en: "words-en.json", ko: "words-ko.json" }), logLevel: "warning" });
const files = {};

async function rebuild() {
  try {
    const { outputFiles } = await bundler.rebuild();
    const tables = await words();
    for (const locale of ["en", "ko"]) files[`/words-${locale}.json`] = JSON.stringify(tables[locale]);
    for (const file of outputFiles) files[file.path.endsWith(".css") ? "/app.css" : "/app.js"] = file.contents;
  } catch {
    console.error("the bundle has errors; serving the last good one");
  }
}

const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

function proxy(incoming, outgoing) {
  const target = new URL(incoming.url, api);
  const onward = request(
    target,
    { method: incoming.method, headers: { ...incoming.headers, host: target.host, origin: target.origin } },
    (reply) => {
      outgoing.writeHead(reply.statusCode, reply.headers);
      reply.pipe(outgoing);
    },
  );
  onward.on("error", () => outgoing.destroy());
  outgoing.on("close", () => onward.destroy());
  incoming.pipe(onward);
}

createServer(async (incoming, outgoing) => {
  const url = new URL(incoming.url, "http://localhost");
  const isApi = /^\/(v1|health|openapi\.json|metrics)/.test(url.pathname);
  if (isApi && api) return proxy(incoming, outgoing);
  if (isApi) {
    const chunks = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = chunks.length ? JSON.parse(Buffer.concat(chunks).toString()) : null;
    return answer(incoming, url, body, outgoing, { empty });
  }
  if (files[url.pathname]) {
    const type = { css: "text/css", js: "text/javascript", json: "application/json" }[url.pathname.split(".").pop()];
    outgoing.writeHead(200, { "Content-Type": `${type}; charset=utf-8`, "Cache-Control": "no-store" });
    return outgoing.end(files[url.pathname]);
  }
  if (url.pathname === "/learn.json")
    return outgoing.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(await book()));
  await rebuild();
  outgoing.writeHead(200, { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": CSP, "Cache-Control": "no-store" });
  return outgoing.end(readFileSync(join(here, "src/index.html")));
}).listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}/`));
await rebuild();
