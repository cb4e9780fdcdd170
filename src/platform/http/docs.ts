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

/** The document at /openapi.json, and a page to browse it at /docs/api. */
export async function addApiReference(app: FastifyInstance): Promise<void> {
  app.get("/openapi.json", { schema: { hide: true } }, async () => app.swagger());
  const openReference = once(createReference);
  for (const path of [REFERENCE_PATH, `${REFERENCE_PATH}/*`]) {
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
  return reference;
}

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
