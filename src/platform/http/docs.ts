import swagger from "@fastify/swagger";
import Fastify, { type FastifyInstance } from "fastify";
import { ERROR_CODES, ERRORS } from "../errors.ts";
import { VERSION } from "./server.ts";

const SCOPES = {
  "user:read": "See who calls",
  "invoices:read": "See invoices",
  "invoices:write": "Create and change invoices",
};
const OAUTH = {
  type: "oauth2" as const,
  flows: {
    authorizationCode: {
      authorizationUrl: "/authorize",
      tokenUrl: "/oauth/token",
      refreshUrl: "/oauth/token",
      scopes: { ...SCOPES, openid: "Know who you are", offline_access: "Get refresh tokens" },
    },
    clientCredentials: { tokenUrl: "/oauth/token", scopes: SCOPES },
  },
};

/** Must be registered before the routes that it describes. */
export async function addOpenApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Sliproad",
        version: VERSION,
        description:
          "The on- and off-ramp between stablecoins and bank accounts. Every call carries an API " +
          "key; every POST and PATCH may carry an Idempotency-Key.",
        license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      },
      // Relative: the document is the same wherever the server stands.
      servers: [{ url: "/" }],
      components: {
        securitySchemes: { api_key: { type: "http", scheme: "bearer" }, oauth: OAUTH },
      },
    },
    refResolver: { buildLocalReference: (json) => String(json.$id) },
  });
}

/** The document at /openapi.json, a page to browse it at /docs, and the errors at /docs/errors. */
export async function addDocs(app: FastifyInstance): Promise<void> {
  app.get("/openapi.json", { schema: { hide: true } }, async () => app.swagger());
  app.get("/docs/errors", { schema: { hide: true } }, async (_request, reply) =>
    reply.type("text/html; charset=utf-8").send(errorsPage()),
  );
  const openReference = once(createReference);
  for (const path of ["/docs", "/docs/*"]) {
    app.get(path, { schema: { hide: true } }, async (request, reply) => {
      const reference = await openReference();
      const answer = await reference.inject({ method: "GET", url: request.url });
      return reply
        .code(answer.statusCode)
        .headers(answer.headers as Record<string, string>)
        .send(answer.rawPayload);
    });
  }
}

/**
 * The page's library weighs some 30 MB in memory: it is loaded when the first person opens the
 * page, in a server of its own that is only asked from within.
 */
async function createReference(): Promise<FastifyInstance> {
  const { default: scalar } = await import("@scalar/fastify-api-reference");
  const reference = Fastify();
  // Everything that would ask a host outside or advertise a hosted service is switched off.
  await reference.register(scalar, {
    routePrefix: "/docs",
    configuration: {
      url: "/openapi.json",
      pageTitle: "Sliproad API",
      withDefaultFonts: false,
      telemetry: false,
      showDeveloperTools: "never",
      agent: { disabled: true },
      mcp: { disabled: true },
      hideClientButton: true,
    },
  });
  await reference.ready();
  return reference;
}

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

function errorsPage(): string {
  const rows = ERROR_CODES.map((code) => {
    const [status, advice] = ERRORS[code];
    const id = `<a id="${code}" href="#${code}"><code>${code}</code></a>`;
    return `<tr><td>${id}</td><td>${status}</td><td>${escapeHtml(advice)}</td></tr>`;
  });
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Errors · Sliproad</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem }
  body { padding: 0 1rem }
  table { border-collapse: collapse; width: 100% }
  td, th { border-bottom: 1px solid #ccc; padding: .5rem; text-align: left; vertical-align: top }
  tr:has(:target) { background: #fff3c4 }
</style>
<h1>Errors</h1>
<p>Every refusal has this body: <code>error_code</code>, <code>message</code>, <code>status</code>,
<code>request_id</code>, <code>doc_url</code> and, where fields are at fault, <code>errors</code>.
The <a href="/docs">API reference</a> says which route answers which.</p>
<table>
<tr><th>error_code</th><th>status</th><th>what to do</th></tr>
${rows.join("\n")}
</table>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
