import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import type { EvmNode } from "./node.ts";

type Call = { id: number; method: string; params: unknown[] };
type Block = { number: string } | null;
/** What the server answers instead; undefined: what the node says. */
type Answer = unknown;

/** An RPC URL in front of a node, which can be as bad as a real one. */
export type RpcServer = {
  url: string;
  /** The final block is this many blocks behind the latest; the node itself knows no finality. */
  finalized_depth: number;
  /** HTTP status of every answer; 200: normal. */
  status: number;
  /** Never answers. */
  is_hanging: boolean;
  /** How much later than it could it answers. */
  delay_ms: number;
  /** Refuses more blocks than this at once, with this HTTP status. */
  blocks_max: number;
  refusal_status: number;
  /** Changes an answer of the node. */
  change: ((call: Call, answer: Answer) => Answer) | null;
  /** Answers without asking the node; undefined: the node is asked. */
  instead: ((call: Call) => Answer) | null;
  /** How many requests of a method came. */
  count(method: string): number;
  close(): Promise<void>;
};

class RpcProblem extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export async function startRpcServer(node: EvmNode): Promise<RpcServer> {
  const counts = new Map<string, number>();
  const server = createServer((request, response) => {
    void respond(request).then(async ({ status, body }) => {
      if (rpc.delay_ms > 0) await setTimeout(rpc.delay_ms);
      if (rpc.is_hanging) return;
      response.writeHead(status, { "content-type": "application/json" });
      response.end(body);
    });
  });

  const respond = async (request: IncomingMessage) => {
    const body = JSON.parse(await text(request)) as Call | Call[];
    const calls = [body].flat();
    for (const { method } of calls) counts.set(method, (counts.get(method) ?? 0) + 1);
    if (rpc.status !== 200) return { status: rpc.status, body: '"refused"' };
    const answers = [];
    for (const call of calls) answers.push(await answer(call));
    const is_refused = answers.some((one) => "error" in one);
    const status = is_refused ? rpc.refusal_status : 200;
    return { status, body: JSON.stringify(Array.isArray(body) ? answers : answers[0]) };
  };

  const answer = async (call: Call) => {
    const head = { jsonrpc: "2.0", id: call.id };
    try {
      const said = rpc.instead?.(call) ?? (await perform(call));
      const changed = rpc.change?.(call, said);
      return { ...head, result: changed === undefined ? said : changed };
    } catch (error) {
      const { code = -32_000, message } = error as { code?: number; message: string };
      return { ...head, error: { code, message } };
    }
  };

  const perform = async ({ method, params }: Call) => {
    if (method === "eth_getBlockByNumber" && params[0] === "finalized") {
      const latest = (await node.ask(method, "latest", false)) as { number: string };
      const number = Math.max(0, Number(latest.number) - rpc.finalized_depth);
      return node.ask(method, `0x${number.toString(16)}`, false) as Promise<Block>;
    }
    if (method === "eth_getLogs") {
      const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string };
      if (Number(toBlock) - Number(fromBlock) + 1 > rpc.blocks_max) {
        throw new RpcProblem(-32_005, `query exceeds the limit of ${rpc.blocks_max} blocks`);
      }
    }
    return node.ask(method, ...params);
  };

  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const rpc: RpcServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    finalized_depth: 0,
    status: 200,
    is_hanging: false,
    delay_ms: 0,
    blocks_max: 1_000_000,
    refusal_status: 200,
    change: null,
    instead: null,
    count: (method) => counts.get(method) ?? 0,
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return rpc;
}
