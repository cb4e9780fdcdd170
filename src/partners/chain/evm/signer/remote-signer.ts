import { Agent, request } from "undici";
import { type Signer, SignerUnavailable, SigningRefused } from "./port.ts";
import { requestText } from "./request-text.ts";
import { assemble } from "./transaction.ts";

type Remote = {
  /** The path of a socket, or host:port. */
  address: string;
  token: string;
  timeout_ms: number;
};
type Answer = { status: number; body: Record<string, unknown> };

/**
 * The signer in another process. It sends only signatures: the transaction is built here as well,
 * so what is broadcast is what was asked for.
 */
export async function openRemoteSigner({ address, token, timeout_ms }: Remote): Promise<Signer> {
  const is_socket = address.startsWith("/");
  const connect = { timeout: timeout_ms, ...(is_socket ? { socketPath: address } : {}) };
  const dispatcher = new Agent({ connect });
  const origin = is_socket ? "http://signer" : `http://${address}`;

  const ask = async (method: "GET" | "POST", path: string, body?: string): Promise<Answer> => {
    try {
      const answer = await request(`${origin}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body }),
        signal: AbortSignal.timeout(timeout_ms),
        dispatcher,
      });
      return { status: answer.statusCode, body: JSON.parse(await answer.body.text()) };
    } catch (error) {
      throw new SignerUnavailable(`The signer at ${address} does not answer: ${reasonOf(error)}.`);
    }
  };
  const failed = ({ status, body }: Answer) =>
    new SignerUnavailable(`The signer at ${address} answered ${status}: ${body.error}`);

  const facts = await ask("GET", "/signer").catch(async (error: unknown) => {
    await dispatcher.destroy();
    throw error;
  });
  const { treasury, wallet } = facts.body;
  if (facts.status !== 200 || typeof treasury !== "string" || typeof wallet !== "string") {
    await dispatcher.destroy();
    throw failed(facts);
  }
  return {
    treasury,
    wallet,
    sign: async (asked) => {
      const answer = await ask("POST", "/sign", requestText(asked));
      const { refused, is_nonce_used, transaction, authorization } = answer.body;
      if (answer.status === 422) throw new SigningRefused(String(refused), is_nonce_used === true);
      if (answer.status !== 200) throw failed(answer);
      try {
        return assemble(asked, treasury, {
          transaction: toBytes(transaction),
          authorization: authorization === null ? null : toBytes(authorization),
        });
      } catch (error) {
        throw new SignerUnavailable(
          `The signer at ${address} answered wrongly: ${(error as Error).message}.`,
        );
      }
    },
    close: () => dispatcher.destroy(),
  };
}

function toBytes(hex: unknown): Uint8Array {
  return Buffer.from(String(hex), "hex");
}

function reasonOf(error: unknown): string {
  const { name, message, code } = error as Error & { code?: string };
  return name === "TimeoutError" ? "no answer in time" : (code ?? message);
}
