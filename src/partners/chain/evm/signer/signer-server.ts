import { createHash, timingSafeEqual } from "node:crypto";
import fastify, { type FastifyInstance } from "fastify";
import type { LocalSigner } from "./local-signer.ts";
import { SignerUnavailable, SigningRefused } from "./port.ts";

const BODY_BYTES_MAX = 16 * 1024;

/** What the signer tells its operator: each signature and each refusal. */
type SignerLog = (line: Record<string, unknown>) => void;

/** Serves the signer to the worker. Private keys stay in this process. */
export function createSignerServer(
  signer: LocalSigner,
  token: string,
  log: SignerLog,
): FastifyInstance {
  const server = fastify({ bodyLimit: BODY_BYTES_MAX });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser("application/json", { parseAs: "string" }, (_, body, done) =>
    done(null, body),
  );
  server.addHook("onRequest", async (request, reply) => {
    if (isSame(request.headers.authorization ?? "", `Bearer ${token}`)) return;
    await reply.code(401).send({ error: "The token differs from SLIPROAD_SIGNER_TOKEN." });
  });
  const { treasury, wallet } = signer;
  server.get("/signer", async () => ({ treasury, wallet }));
  server.post("/sign", async (request, reply) => {
    const asked = String(request.body ?? "");
    try {
      const { transaction, authorization } = signer.signatures(asked);
      log({ signed: asked });
      return {
        transaction: toHex(transaction),
        authorization: authorization && toHex(authorization),
      };
    } catch (error) {
      const { message } = error as Error;
      log({ refused: asked, reason: message });
      if (error instanceof SigningRefused) {
        return reply.code(422).send({ refused: message, is_nonce_used: error.is_nonce_used });
      }
      if (error instanceof SignerUnavailable) return reply.code(503).send({ error: message });
      return reply.code(500).send({ error: "The signer failed; see its log." });
    }
  });
  return server;
}

/** In the same time whatever differs. */
function isSame(given: string, expected: string): boolean {
  const [one, other] = [given, expected].map((text) => createHash("sha256").update(text).digest());
  return timingSafeEqual(one!, other!);
}

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
