import type { IncomingMessage, ServerResponse } from "node:http";
import { BlockList, isIPv6 } from "node:net";
import { SECOND_MS } from "../durations.ts";
import { type AddressOf, callerNetwork } from "./caller-network.ts";

/** The event loop is this late: more requests arrive than can be processed. */
const LATE_MS = 200;
const MEASURE_EVERY_MS = 25;
/** Whoever has fewer requests under way is served however busy others keep the service. */
const OWN_MAX_LATE = 500;
/** A second or two of work. More would be refused before the database, which costs more. */
const OWN_MAX = 1_000;
/** However many networks share the number of those without an account, up to another number. */
const NETWORK_MIN = 2;
const ALL_NETWORKS_MAX = 3_000;
const PROBES = new Set(["/healthz", "/readyz"]);

export type OverloadOptions = {
  addressOf: AddressOf;
  /** By its credential; undefined if that is none of ours. */
  accountOf: (request: IncomingMessage) => string | undefined;
  /** Called at most once a second. */
  onRefused: (requests: number) => void;
};

/**
 * Whose request it is: an account that is known by its credential, or a network. Probes of health
 * count as those of an account.
 */
type Sender = { name: string; is_account: boolean };

type Admit = (request: IncomingMessage, answer: ServerResponse) => Sender & { is_refused: boolean };

/**
 * A service that begins every request when more arrive than it can process answers all of them too
 * late. While the event loop is late, senders with many requests under way are refused before
 * anything of theirs is looked at. An account has its own number. All others share one, each
 * network equally: with many addresses or made-up credentials nobody gets more.
 */
export function createOverload({ addressOf, accountOf, onRefused }: OverloadOptions): Admit {
  const of_accounts = new Map<string, number>();
  const of_networks = new Map<string, number>();
  const senderOf = (request: IncomingMessage): Sender => {
    const account_id = accountOf(request);
    if (account_id !== undefined) return { name: account_id, is_account: true };
    const name = callerNetwork(addressOf(request));
    if (isProbe(request, addressOf)) return { name: `probes of ${name}`, is_account: true };
    return { name, is_account: false };
  };
  let of_all_networks = 0;
  const networkMax = (own: number, max: number): number => {
    if (of_all_networks >= ALL_NETWORKS_MAX) return 0;
    if (of_all_networks >= max) return NETWORK_MIN;
    return Math.max(max / (of_networks.size + (own === 0 ? 1 : 0)), NETWORK_MIN);
  };
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
    const sender = senderOf(request);
    const { name, is_account } = sender;
    const under_way = is_account ? of_accounts : of_networks;
    const own = under_way.get(name) ?? 0;
    // While the timer cannot run, requests of many connections arrive.
    const is_late = Math.max(late_ms, performance.now() - due_ms) >= LATE_MS;
    const max = is_late ? OWN_MAX_LATE : OWN_MAX;
    if (own >= (is_account ? max : networkMax(own, max))) {
      refused += 1;
      return { ...sender, is_refused: true };
    }
    const count = (change: number) => {
      const now = (under_way.get(name) ?? 0) + change;
      if (now > 0) under_way.set(name, now);
      else under_way.delete(name);
      if (!is_account) of_all_networks += change;
    };
    count(1);
    // What is answered at once counts until others have had their turn.
    answer.once("close", () => setImmediate(count, -1));
    return { ...sender, is_refused: false };
  };
}

/** Whoever is told that a busy process does not answer stops it, and nobody is served any more. */
function isProbe(request: IncomingMessage, addressOf: AddressOf): boolean {
  return PROBES.has(request.url ?? "") && isPrivate(addressOf(request));
}

function isPrivate(address: string): boolean {
  return PRIVATE.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

/** Networks of which no stranger is part. */
const PRIVATE = new BlockList();
for (const [network, bits] of [
  ["127.0.0.0", 8],
  ["10.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
] as const) {
  PRIVATE.addSubnet(network, bits);
}
PRIVATE.addAddress("::1", "ipv6");
PRIVATE.addSubnet("fc00::", 7, "ipv6");
