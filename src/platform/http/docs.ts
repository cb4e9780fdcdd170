import swagger from "@fastify/swagger";
import type { FastifyInstance } from "fastify";
import { VERSION } from "./check-headers.ts";

const SCOPES = {
  "user:read": "Read the caller's account",
  "invoices:read": "Read invoices",
  "invoices:write": "Create and change invoices",
};
const API_KEY = {
  type: "http" as const,
  scheme: "bearer",
  description: "An API key of your account: `Authorization: Bearer <API_KEY>`.",
};
const OAUTH = {
  type: "oauth2" as const,
  description: "An access token of an application, for invoices and `GET /me`.",
  flows: {
    authorizationCode: {
      authorizationUrl: "/authorize",
      tokenUrl: "/oauth/token",
      refreshUrl: "/oauth/token",
      scopes: {
        ...SCOPES,
        openid: "Sign in with your identity",
        offline_access: "Get refresh tokens",
      },
    },
    clientCredentials: { tokenUrl: "/oauth/token", scopes: SCOPES },
  },
};

type FinishDocument = (described: object) => object;

/**
 * Must be registered before the routes that it describes. `finish` converts the routes'
 * declarations into the served document.
 */
export async function addOpenApi(
  app: FastifyInstance,
  finish: FinishDocument = (described) => described,
): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Sliproad",
        version: VERSION,
        description:
          "Sliproad pays out stablecoins to bank accounts and converts bank deposits to " +
          "stablecoins. Send an API key with every request. Send an `Idempotency-Key` with every " +
          "POST, PATCH and DELETE that you may have to repeat.",
        license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      },
      // Relative: the document does not depend on the server's URL.
      servers: [{ url: "/" }],
      components: {
        securitySchemes: { api_key: API_KEY, oauth: OAUTH },
      },
    },
    // The API's routes have an operation; pages and other routes are not described.
    transform: ({ schema, url }) => ({
      schema: isOperation(schema) ? schema : { hide: true },
      url,
    }),
    transformObject: (described) =>
      "openapiObject" in described ? finish(described.openapiObject) : described.swaggerObject,
    refResolver: { buildLocalReference: (json) => String(json.$id) },
  });
}

function isOperation(schema: object | undefined): boolean {
  return schema !== undefined && "operationId" in schema;
}

/** The document at /openapi.json; the same for every caller, so it is serialized once. */
export function addOpenApiRoute(app: FastifyInstance): void {
  // As bytes: a text would be copied for every client, and kept until it has read all of it.
  let bytes: Buffer | undefined;
  app.get("/openapi.json", async (_request, reply) => {
    bytes ??= Buffer.from(JSON.stringify(app.swagger()));
    return reply.type("application/json; charset=utf-8").send(bytes);
  });
}
