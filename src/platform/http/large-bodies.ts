import type { ServerResponse } from "node:http";
import { setTimeout as pause, setImmediate } from "node:timers/promises";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { createFairTurns } from "../commands/fair-turns.ts";
import { SECOND_MS } from "../durations.ts";
import { Refusal } from "../errors.ts";
import { Shares } from "../shares.ts";
import { createWorkLimit } from "../work-limit.ts";
import { parseJsonBody } from "./json-body.ts";
import { thenRest } from "./then-rest.ts";

/** Such a body takes the thread that answers everybody tens to hundreds of milliseconds. */
const LARGE_BYTES = 256 * 1024;
/** Of all accounts; one account has one. */
const AT_ONCE_MAX = 2;
/** An answer that takes longer waits for something else than the thread: others begin meanwhile. */
const TURN_MAX_MS = 3 * SECOND_MS;
/** Of one account; each keeps its request in memory. */
const WAITING_MAX = 1_000;
/** Of bodies that arrived and wait for their turn, of all accounts; one has its share. */
const WAITING_BYTES_MAX = 128 * 1024 * 1024;
const RETRY_AFTER_SECONDS = 1;

type Answer = { made: Promise<void>; note: () => void; raw: ServerResponse };

/**
 * Reads JSON bodies. Accounts with large ones take turns. A turn lasts until the answer is made,
 * not until it is sent: a client that does not read it holds nothing. The next one of the same
 * account begins when the answer is made; those of others do not wait that long.
 */
export function addJsonBodies(app: FastifyInstance): void {
  const inTurn = createFairTurns(AT_ONCE_MAX);
  const oneByOne = createWorkLimit({ at_once: 1, waiting_max: WAITING_MAX });
  const waiting = new Shares(WAITING_BYTES_MAX);
  const answers = new WeakMap<FastifyRequest, Answer>();
  app.addHook("preParsing", async (request, reply) => {
    if (!request.caller) return;
    const { promise: made, resolve: note } = Promise.withResolvers<void>();
    answers.set(request, { made, note, raw: reply.raw });
    reply.raw.once("close", note);
  });
  app.addHook("onSend", (request, _reply, _payload, done) => {
    answers.get(request)?.note();
    done();
  });
  const parse = async (request: FastifyRequest, body: Buffer) => {
    const answer = answers.get(request);
    if (body.length > LARGE_BYTES && answer) {
      const { account_id } = request.caller!;
      if (!waiting.take(account_id, body.length)) {
        throw new Refusal("unavailable", undefined, RETRY_AFTER_SECONDS);
      }
      const begun = Promise.withResolvers<void>();
      oneByOne(account_id, async () => {
        await inTurn(account_id, () => {
          begun.resolve();
          return thenRest(
            Promise.race([answer.made, pause(TURN_MAX_MS, undefined, { ref: false })]),
          );
        });
        await answer.made;
      }).catch(begun.reject);
      await begun.promise.finally(() => waiting.leave(account_id, body.length));
      await setImmediate();
      // The caller hung up while it waited: nobody reads this refusal.
      if (answer.raw.closed) throw new Refusal("bad_request");
    }
    return body.length === 0 ? undefined : parseJsonBody(body);
  };
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, parse);
}
