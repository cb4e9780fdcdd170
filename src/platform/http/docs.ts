import swagger from "@fastify/swagger";
import Fastify, { type FastifyInstance } from "fastify";
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

const REFERENCE_PATH = "/docs/api";
const START_PATH = `${REFERENCE_PATH}/js/start.js`;
const HTML_TYPE = "text/html; charset=utf-8";
const SCRIPT_TYPE = "text/javascript; charset=utf-8";
/** Scripts and data of this server only; styles also inline, which the page's library writes. */
const REFERENCE_HEADERS = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
    "connect-src 'self'; img-src 'self' data: blob:; font-src 'self' data:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "X-Frame-Options": "DENY",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-cache",
};

/** The document at /openapi.json, and a page to browse it at /docs/api. */
export async function addApiReference(app: FastifyInstance): Promise<void> {
  app.get("/openapi.json", { schema: { hide: true } }, async () => app.swagger());
  const openReference = once(createReference);
  for (const path of [REFERENCE_PATH, `${REFERENCE_PATH}/*`]) {
    app.get(path, { schema: { hide: true } }, async (request, reply) => {
      const reference = await openReference();
      const [path = ""] = request.url.split("?");
      if (path === `${REFERENCE_PATH}/`) {
        return reply.headers(REFERENCE_HEADERS).type(HTML_TYPE).send(reference.page);
      }
      if (path === START_PATH) return reply.type(SCRIPT_TYPE).send(reference.start_script);
      const answer = await reference.library.inject({ method: "GET", url: request.url });
      return reply
        .code(answer.statusCode)
        .headers(answer.headers as Record<string, string>)
        .send(answer.rawPayload);
    });
  }
}

type Reference = { library: FastifyInstance; page: string; start_script: string };

/**
 * The page's library weighs some 30 MB in memory: it is loaded when the first person opens the
 * page, in a server of its own that is only asked from within.
 */
async function createReference(): Promise<Reference> {
  const { default: scalar } = await import("@scalar/fastify-api-reference");
  const reference = Fastify();
  // Everything that would ask a host outside or advertise a hosted service is switched off.
  await reference.register(scalar, {
    routePrefix: REFERENCE_PATH,
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
  const { payload } = await reference.inject({ method: "GET", url: `${REFERENCE_PATH}/` });
  return { library: reference, ...withoutInlineScript(payload) };
}

/** Its one inline script becomes a file, so that the page's policy can forbid all others. */
function withoutInlineScript(html: string): Pick<Reference, "page" | "start_script"> {
  const [tag, start_script] = /<script type="text\/javascript">(.*?)<\/script>/s.exec(html) ?? [];
  if (!tag || !start_script) throw new Error("the API reference has no script that starts it");
  const page = html.replace(tag, () => `<script src="${START_PATH}"></script>`);
  return { page, start_script };
}

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
