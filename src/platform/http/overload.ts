import type { IncomingMessage, ServerResponse } from "node:http";
import { SECOND_MS } from "../durations.ts";
import { type AddressOf, callerNetwork } from "./caller-network.ts";

/** The event loop is this late: more requests arrive than can be processed. */
const LATE_MS = 200;
const MEASURE_EVERY_MS = 25;
/** Whoever has fewer requests under way is served however busy others keep the service. */
const OWN_MAX_LATE = 500;
/** A second or two of work; what waits longer is answered too late for its caller. */
const OWN_MAX = 2_000;

type OverloadOptions = {
  addressOf: AddressOf;
  /** Sends the refusal: it must cost little. */
  refuse: (answer: ServerResponse) => void;
  /** Called at most once a second. */
  onRefused: (requests: number) => void;
};

/**
 * A service that begins every request when more arrive than it can process answers all of them too
 * late. While the event loop is late, senders with many requests under way are refused before
 * anything of theirs is looked at. False: it was refused.
 */
export function createOverload({
  addressOf,
  refuse,
  onRefused,
}: OverloadOptions): (request: IncomingMessage, answer: ServerResponse) => boolean {
  const under_way = new Map<string, number>();
  let due_ms = performance.now() + MEASURE_EVERY_MS;
  let [late_ms, refused, told_ms] = [0, 0, 0];
  const timer = setInterval(() => {
    const now_ms = performance.now();
    late_ms = now_ms - due_ms;
    due_ms = now_ms + MEASURE_EVERY_MS;
    if (refused === 0 || now_ms - told_ms < SECOND_MS) return;
    onRefused(refused);
    [refused, told_ms] = [0, now_ms];
  }, MEASURE_EVERY_MS);
  timer.unref();
  return (request, answer) => {
    // By credential, right or wrong.
    const { authorization, cookie } = request.headers;
    const sender = authorization ?? cookie ?? callerNetwork(addressOf(request));
    const own = under_way.get(sender) ?? 0;
    if (own >= (late_ms >= LATE_MS ? OWN_MAX_LATE : OWN_MAX)) {
      refused += 1;
      refuse(answer);
      return false;
    }
    under_way.set(sender, own + 1);
    answer.once("close", () => {
      const left = under_way.get(sender)! - 1;
      if (left > 0) under_way.set(sender, left);
      else under_way.delete(sender);
    });
    return true;
  };
}
